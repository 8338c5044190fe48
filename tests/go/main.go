// The client-go program of tests/tests/clients. It uses the API server of KUBECONFIG and prints lines that the test reads.
//
//	informer NAMESPACE KIND   runs an informer of the kind and prints each change
//	leaders NAMESPACE         runs two candidates that lead one after the other
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
	return fmt.Errorf("unknown arguments: %q", arguments)
}

// protobuf returns a copy of the configuration with which every request and response is in protobuf.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	return config
}
