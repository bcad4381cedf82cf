package lint

import (
	"fmt"

	"github.com/mcpsign/mcpsign/lock"
)

// A Code says what a finding is about. Codes are stable.
type Code string

const (
	ANSIEscape         Code = "ansi_escape"
	BidiControl        Code = "bidi_control"
	CaseCollision      Code = "case_collision"
	ControlCharacter   Code = "control_character"
	DynamicRef         Code = "dynamic_ref"
	HiddenCharacter    Code = "hidden_character"
	IconData           Code = "icon_data"
	IconExternal       Code = "icon_external"
	IconScheme         Code = "icon_scheme"
	IconSVG            Code = "icon_svg"
	InstructionMarkup  Code = "instruction_markup"
	InvalidSchema      Code = "invalid_schema"
	LongDescription    Code = "long_description"
	LookalikeName      Code = "lookalike_name"
	NameCharset        Code = "name_charset"
	NestedMeta         Code = "nested_meta"
	NoDescription      Code = "no_description"
	Noncharacter       Code = "noncharacter"
	NotChecked         Code = "not_checked"
	PrivateUse         Code = "private_use"
	RemoteRef          Code = "remote_ref"
	RequiredUnknown    Code = "required_unknown"
	SchemaDialect      Code = "schema_dialect"
	SchemaID           Code = "schema_id"
	SchemaRoot         Code = "schema_root"
	SharedName         Code = "shared_name"
	TagCharacters      Code = "tag_characters"
	UnresolvedRef      Code = "unresolved_ref"
	UnusualSpace       Code = "unusual_space"
	VariationSelectors Code = "variation_selectors"
	VolatileValue      Code = "volatile_value"
	ZeroWidth          Code = "zero_width"
)

// Info describes a code.
type Info struct {
	Code  Code
	Title string // a few words
	Help  string // why it matters and what to do, one or two sentences
}

// Codes lists all codes, sorted.
func Codes() []Info {
	return []Info{
		{ANSIEscape, "terminal escape sequence", "A terminal that prints the text obeys it: colours, cursor movements, titles, links. A definition has no use for one."},
		{BidiControl, "bidirectional control character", "It reorders the text around it, so that a person reads something other than a model does."},
		{CaseCollision, "name that differs in case only", "Another definition has the name but for upper and lower case: a person, or a host that folds case, takes one for the other."},
		{ControlCharacter, "control character", "It does not show, or moves what does. Line ends and tabs in texts are not reported."},
		{DynamicRef, "dynamic reference in a schema", "What $dynamicRef and $recursiveRef lead to depends on where validation started; many validators do not follow them."},
		{HiddenCharacter, "character that does not show", "A format character or one without a meaning yet. A model reads it and a person does not."},
		{IconData, "icon data that is no image", "The data: URI of an icon has another type than image/."},
		{IconExternal, "icon fetched from elsewhere", "The digest covers the address and not the picture, and whoever serves it sees who looks."},
		{IconScheme, "icon of an unsafe scheme", "An icon's src is neither https: nor data:. Plain http can be changed on the way; other schemes may run code or read files."},
		{IconSVG, "icon that is SVG", "SVG can hold scripts and fetch other files. Hosts should sanitise it or not show it."},
		{InstructionMarkup, "wording that addresses the model", "The text has markup or phrases that are common in prompt injection. Read the text; many honest servers write like this too."},
		{InvalidSchema, "schema that is no JSON Schema", "A keyword has a value that its JSON Schema dialect (2020-12 where none is named) does not allow: hosts may refuse the tool or read the schema differently."},
		{LongDescription, "very long text", "The text takes much of a model's context, and few will read it to its end."},
		{LookalikeName, "name that looks like another", "Another definition has a name that is spelled with other characters and looks the same."},
		{NameCharset, "name with unusual characters", "MCP names are 1 to 128 characters of A-Z, a-z, 0-9, underscore, hyphen and dot. Hosts may refuse or rewrite others."},
		{NestedMeta, "nested _meta", "Only the top-level _meta is left out of the digest: one further inside is signed and pinned, and any change of it is a change of the definition."},
		{NoDescription, "tool without description", "A model can only guess from the name what the tool does, and so can a reviewer."},
		{Noncharacter, "noncharacter", "Unicode reserves the code point for internal use and gives it no meaning in an exchange."},
		{NotChecked, "not checked", "The definition could not be read again, so nothing is known about it. Please report this."},
		{PrivateUse, "private use character", "What it shows as, if anything, depends on the font; what a model makes of it is unknown."},
		{RemoteRef, "reference out of the schema", "A $ref leads to another document: the digest does not cover it, it can change at any time, and fetching it tells its owner."},
		{RequiredUnknown, "required property that is not defined", "A name in required is no property of the schema, so nothing says what it must be; often a typing error."},
		{SchemaDialect, "unknown schema dialect", "$schema names none of the JSON Schema drafts 4, 6, 7, 2019-09 and 2020-12, so the schema was not checked and hosts may refuse it."},
		{SchemaID, "schema with an identifier", "$id changes what references in the schema are relative to, and can claim the address of another schema."},
		{SchemaRoot, "input schema that is no object", "MCP wants inputSchema to be an object with type object at its root: arguments are passed by name."},
		{SharedName, "name that another server has", "A tool, prompt or template of another pinned server has the same name: a host that does not tell servers apart may call the wrong one."},
		{TagCharacters, "tag characters", "They show as nothing and spell ASCII, the usual way to hide instructions. The detail shows what they spell."},
		{UnresolvedRef, "reference to nothing", "A local $ref leads to no place in its schema, so that the schema can't be used."},
		{UnusualSpace, "blank other than the space", "It looks like a space or like nothing and is another character: two texts that look the same may differ."},
		{VariationSelectors, "variation selectors without effect", "They show as nothing and can encode any text when they do not follow a character that has variants. The detail shows the bytes they may spell."},
		{VolatileValue, "value that looks as if it changes", "A time, a path, a port or an identifier of this start of the server: the next one may list another definition, which no pin or signature will fit."},
		{ZeroWidth, "zero-width character", "It takes no room and does not show, but makes a different text; joiners in emoji and in the scripts that need them are not reported."},
	}
}

// ParseCode returns the code that s spells. The error names s.
func ParseCode(s string) (Code, error) {
	for _, i := range Codes() {
		if string(i.Code) == s {
			return i.Code, nil
		}
	}
	return "", fmt.Errorf("lint has no code %s", lock.Visible(s))
}
