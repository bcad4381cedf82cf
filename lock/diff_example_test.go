package lock_test

import (
	"fmt"
	"log"

	"github.com/mcpsign/mcpsign/lock"
)

// What a new release of a server changes, and what that means.
func ExampleDiff() {
	old, err := lock.ParseListing([]byte(`{"tools":[{"name":"get","annotations":{"readOnlyHint":true},
		"inputSchema":{"properties":{"unit":{"enum":["C","F"]}},"required":["unit"]}},{"name":"put"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	now, err := lock.ParseListing([]byte(`{"tools":[{"name":"get","inputSchema":{"properties":{"unit":{"enum":["K","C","F"]}}}},{"name":"set"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range lock.Diff(old, now) {
		fmt.Println(c.Op, lock.Visible(lock.ID(c.Kind, c.Name)), c.Severity)
		for _, f := range c.Fields {
			for _, e := range f.Effects {
				fmt.Println(" ", lock.Visible(f.Pointer), e.Code, lock.Visible(e.Detail))
			}
		}
	}
	// Output:
	// changed tool:get high
	//   /annotations annotation_loosened readOnlyHint true to absent
	//   /inputSchema/properties/unit/enum enum_extended "K"
	//   /inputSchema/required required_removed unit
	// added tool:set high
	// removed tool:put normal
}
