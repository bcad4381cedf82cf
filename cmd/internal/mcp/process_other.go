//go:build !unix

package mcp

import "os/exec"

func isolate(*exec.Cmd) {}

func (p *process) terminate() { p.kill() }
func (p *process) kill()      { _ = p.cmd.Process.Kill() }
