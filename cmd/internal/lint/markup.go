package lint

import "strings"

// markup reports wording that is common in prompt injection and rare in
// honest texts. It is a short list on purpose: anyone who wants to can write
// around it, so that more of it would only cost attention.
func (c *checker) markup(s string) {
	lower := strings.ToLower(s)
	for _, phrase := range [...]string{
		"<important>", "<system>", "<secret>", "<|im_start|>", "<<sys>>", "[inst]",
		"ignore previous instructions", "ignore all previous", "ignore the previous", "ignore prior", "ignore all prior", "ignore all other",
		"disregard previous", "disregard all", "disregard the above", "ignore the above",
		"tell the user about this", "not tell the user", "n't tell the user", "not inform the user", "not mention this to", "not notify the user",
		"without telling the user", "without informing the user", "hide this from the user", "keep this secret", "system prompt",
	} {
		if i := strings.Index(lower, phrase); i >= 0 {
			c.add(InstructionMarkup, "%s in %s", shown(phrase), shown(around(lower, i)))
			return
		}
	}
}
