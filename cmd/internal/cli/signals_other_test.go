//go:build !unix

package cli

func stubborn() {}
