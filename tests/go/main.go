// What tests/tests/clients asks of client-go. It speaks to the API server of KUBECONFIG, and in lines to the test.
//
//	informer NAMESPACE KIND   keeps a copy of the kind, and says each change
//	leaders NAMESPACE         two candidates lead one after the other
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	switch {
	case len(arguments) == 3 && arguments[0] == "informer":
		return inform(ctx, config, arguments[1], arguments[2])
	case len(arguments) == 2 && arguments[0] == "leaders":
		return lead(ctx, config, arguments[1])
	}
	return fmt.Errorf("no such story: %q", arguments)
}

// As controllers of built-in kinds set it.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}
