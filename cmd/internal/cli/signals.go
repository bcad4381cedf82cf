package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// windDown is how long an interrupted run has to stop its server, remove
// temporary files and release locks. A read of a terminal, a pipe or a FIFO
// can't be interrupted: what is left then ends with the process.
const windDown = 500 * time.Millisecond

// An interruption is the cause of a context that a signal has canceled.
type interruption struct {
	name   string
	number syscall.Signal
}

func (i *interruption) Error() string { return "interrupted by " + i.name }

// code is what a shell reports of a process that the signal has ended.
func (i *interruption) code() ExitCode { return ExitCode(128 + int(i.number)) }

// interrupted returns the signal that has canceled ctx as a failure without a
// hint, nil if none has.
func interrupted(ctx context.Context) error {
	if i := (*interruption)(nil); errors.As(context.Cause(ctx), &i) {
		return fail(i.code(), i, "")
	}
	return nil
}

func interruptions() []interruption {
	return []interruption{{"SIGINT", syscall.SIGINT}, {"SIGTERM", syscall.SIGTERM}, {"SIGHUP", syscall.SIGHUP}}
}

// RunInterruptible is [Run] until SIGINT, SIGTERM or SIGHUP arrives. It then
// returns within a second, whatever the run waits for, with the code that a
// shell reports for the signal: the caller has to end the process. A SIGHUP that
// the process was started to ignore, by nohup for example, stays ignored.
func RunInterruptible(p Process) ExitCode {
	arrived := make(chan os.Signal, 1)
	for _, i := range interruptions() {
		if i.number != syscall.SIGHUP || !signal.Ignored(i.number) {
			signal.Notify(arrived, i.number)
		}
	}
	defer signal.Stop(arrived)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan ExitCode, 1)
	go func() { done <- Run(ctx, p) }()
	select {
	case code := <-done:
		return code
	case s := <-arrived:
		return windUp(s, cancel, done, p)
	}
}

// windUp cancels a run and gives it a moment to end by itself.
func windUp(s os.Signal, cancel context.CancelCauseFunc, done <-chan ExitCode, p Process) ExitCode {
	for _, i := range interruptions() {
		if s != i.number {
			continue
		}
		cancel(&i)
		select {
		case code := <-done:
			return code
		case <-time.After(windDown):
			fmt.Fprintln(p.Stderr, "error:", i.Error())
			return i.code()
		}
	}
	return ExitInternal
}
