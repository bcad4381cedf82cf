package attest

import (
	"fmt"
	"testing"
)

var sizes = []int{50, MaxSubjects}

func BenchmarkDefinitions(b *testing.B) {
	for _, n := range sizes {
		l := tools(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Definitions(l, full()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range sizes {
		payload := define(b, tools(b, n), full()).Bytes()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(payload)))
			for b.Loop() {
				if _, err := Parse(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
