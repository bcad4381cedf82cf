//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (p *process) terminate() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }
func (p *process) kill()      { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
