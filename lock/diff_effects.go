package lock

// A Severity says how much a change asks for a reader. They are ordered, and
// the zero value is Normal.
type Severity int8

const (
	Low    Severity = -1 // without a meaning for the model or the user
	Normal Severity = 0
	High   Severity = 1 // it can steer the model, or lets a call do or carry more
)

// String returns "low", "normal" or "high".
func (s Severity) String() string {
	switch {
	case s < Normal:
		return "low"
	case s > Normal:
		return "high"
	}
	return "normal"
}

// An Effect is what a difference means.
type Effect struct {
	Code   EffectCode
	Detail string // the names, numbers and JSON it concerns, shortened; may be empty. It is the server's text: show it through Visible
}

// An EffectCode names an effect. Codes are stable.
//
// A text is a string called description, title or $comment at any depth and in
// any part of a definition, the instructions, and the name of a resource
// template, whose identity is its uriTemplate: all of these are sentences that
// hosts show to a model. The strings in enum, default and examples are data: a
// new enum value is an effect by itself, the others are Normal without one.
//
// An input schema accepts more if a value is valid against the new one and not
// against the old one. Effects say so where a keyword changed, through
// applicators and local references, the other way round under not, and
// conservatively: where this can't be decided it is MayAcceptMore. A property
// that is added counts as well where additionalProperties let it pass before.
type EffectCode string

const (
	// Severity High: texts.
	TextChanged EffectCode = "text_changed"
	TextAdded   EffectCode = "text_added"   // also somewhere in a value that was added
	TextRemoved EffectCode = "text_removed" // by itself, not with what it describes

	// Severity High: what hosts act on.
	AnnotationLoosened EffectCode = "annotation_loosened" // of a tool, with MCP's defaults: not read-only, destructive, not idempotent, open world
	HeaderAdded        EffectCode = "header_added"        // x-mcp-header, anywhere
	HeaderChanged      EffectCode = "header_changed"
	RemoteRef          EffectCode = "remote_ref" // $ref or $dynamicRef to another document, anywhere

	// Severity High: the input schema of a tool accepts more.
	PropertyAdded              EffectCode = "property_added"
	PropertyUnconstrained      EffectCode = "property_unconstrained" // no longer described, and not refused either
	PatternPropertyAdded       EffectCode = "pattern_property_added"
	AdditionalPropertiesOpened EffectCode = "additional_properties_opened"
	UnevaluatedOpened          EffectCode = "unevaluated_opened" // unevaluatedProperties, unevaluatedItems
	PropertyNamesOpened        EffectCode = "property_names_opened"
	RequiredRemoved            EffectCode = "required_removed"
	DependentRemoved           EffectCode = "dependent_removed" // dependentRequired, dependentSchemas, dependencies
	TypeWidened                EffectCode = "type_widened"
	EnumExtended               EffectCode = "enum_extended" // another value, const included
	EnumRemoved                EffectCode = "enum_removed"  // any value, const included
	BoundRelaxed               EffectCode = "bound_relaxed" // minimum, maxLength, multipleOf, uniqueItems, minContains ...
	PatternRemoved             EffectCode = "pattern_removed"
	PatternChanged             EffectCode = "pattern_changed"
	FormatRemoved              EffectCode = "format_removed"
	FormatChanged              EffectCode = "format_changed"
	ItemsOpened                EffectCode = "items_opened"     // items, additionalItems, what follows prefixItems
	ItemAdded                  EffectCode = "item_added"       // to prefixItems
	ContainsRemoved            EffectCode = "contains_removed" // or opened
	AnyOfExtended              EffectCode = "any_of_extended"
	AnyOfRemoved               EffectCode = "any_of_removed"
	OneOfExtended              EffectCode = "one_of_extended"
	OneOfRemoved               EffectCode = "one_of_removed"
	AllOfReduced               EffectCode = "all_of_reduced"
	NotRemoved                 EffectCode = "not_removed"
	SchemaOpened               EffectCode = "schema_opened" // any other place takes what it refused
	RefChanged                 EffectCode = "ref_changed"   // to a schema that is not the same; $id, $anchor
	DialectChanged             EffectCode = "dialect_changed"
	MayAcceptMore              EffectCode = "may_accept_more" // can't be decided; the detail says where it comes from
	MoreEffects                EffectCode = "more_effects"    // than are told apart, see Compare

	// Severity High: a prompt takes more.
	ArgumentAdded    EffectCode = "argument_added"
	ArgumentOptional EffectCode = "argument_optional" // was required

	// Severity Normal: the input schema of a tool accepts less, a prompt takes less.
	PropertyRemoved  EffectCode = "property_removed"
	RequiredAdded    EffectCode = "required_added"
	TypeNarrowed     EffectCode = "type_narrowed"
	EnumReduced      EffectCode = "enum_reduced"
	BoundTightened   EffectCode = "bound_tightened"
	Narrowed         EffectCode = "narrowed" // by any other keyword
	ArgumentRemoved  EffectCode = "argument_removed"
	ArgumentRequired EffectCode = "argument_required"

	// Severity Normal: the output schema of a tool.
	OutputPropertyAdded   EffectCode = "output_property_added"
	OutputPropertyRemoved EffectCode = "output_property_removed"
	OutputRequiredAdded   EffectCode = "output_required_added"
	OutputRequiredRemoved EffectCode = "output_required_removed"
	OutputTypeChanged     EffectCode = "output_type_changed"
	OutputEnumExtended    EffectCode = "output_enum_extended" // another value, or any
	OutputEnumReduced     EffectCode = "output_enum_reduced"
	OutputChanged         EffectCode = "output_changed" // by any other keyword

	// Severity Normal: the rest.
	AnnotationChanged EffectCode = "annotation_changed" // not loosened
	HeaderRemoved     EffectCode = "header_removed"
	UnknownMember     EffectCode = "unknown_member" // of MCP's definitions, annotations, or of JSON Schema; not looked for in what was added as a whole

	// Severity Low.
	Respelled EffectCode = "respelled" // of one meaning: $schema, additionalProperties true, absent or {}, the order of a set, execution
)

// Severity returns the severity of an effect; High for a code that is not known.
func (c EffectCode) Severity() Severity {
	switch c {
	case Respelled:
		return Low
	case PropertyRemoved, RequiredAdded, TypeNarrowed, EnumReduced, BoundTightened, Narrowed, ArgumentRemoved, ArgumentRequired,
		OutputPropertyAdded, OutputPropertyRemoved, OutputRequiredAdded, OutputRequiredRemoved, OutputTypeChanged,
		OutputEnumExtended, OutputEnumReduced, OutputChanged,
		AnnotationChanged, HeaderRemoved, UnknownMember:
		return Normal
	}
	return High
}

// Spelling reports whether a field is spelling only: every effect it has is
// Respelled.
func (f Field) Spelling() bool {
	for _, e := range f.Effects {
		if e.Code != Respelled {
			return false
		}
	}
	return len(f.Effects) > 0
}

// VariesInSpelling reports whether two definitions of one kind and name differ,
// and do so only where other versions of a server's dependencies make one:
// $schema, additionalProperties being a boolean, {} or absent, execution,
// annotations, and what is Respelled. It does not say that they mean the same:
// additionalProperties may have been opened, annotations loosened.
func VariesInSpelling(old, new Definition) bool {
	if old.kind != new.kind || old.name != new.name {
		return false
	}
	fields := Compare(old, new)
	for i := range fields {
		if !fields[i].Spelling() && !fields[i].varies(new.kind) {
			return false
		}
	}
	return len(fields) > 0
}

// varies reports whether a field is at a member that depends on the server's
// dependencies.
func (f Field) varies(k Kind) bool {
	if k != Tool {
		return false
	}
	tokens := tokensOf(f.Pointer)
	if len(tokens) == 0 {
		return false
	}
	switch tokens[0] {
	case "annotations", "execution":
		return true
	case "inputSchema", "outputSchema":
		switch keywordAt(tokens[1:]) {
		case "$schema":
			return true
		case "additionalProperties":
			return isPlain(newValue(f.Old)) && isPlain(newValue(f.New))
		}
	}
	return false
}

// isPlain reports whether a schema is absent, {}, true or false.
func isPlain(v *value) bool {
	return v == nil || v.literal("{}") || v.literal("true") || v.literal("false")
}
