package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpsign/mcpsign/cmd/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := cli.Run(ctx, cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	})
	os.Exit(int(code))
}
