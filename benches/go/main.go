// The client-go side of the benchmarks: a cache subject, the work queue, and the encoding of the load server's Pods as protobuf.
package main

import (
	"fmt"
	"os"
)

const usage = `usage:
  peers encode                 reads Pods as JSON, one per line; writes each as protobuf, preceded by its length in four bytes
  peers compare URL            compares the load server's lists in both encodings, object by object
  peers subject json|protobuf URL
                               caches the load server's Pods with a shared informer, and processes each change
  peers queue CASE KEYS        measures one case of the work queue`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 1 && arguments[0] == "encode":
		return encode(os.Stdin, os.Stdout)
	case len(arguments) == 2 && arguments[0] == "compare":
		return compare(arguments[1])
	case len(arguments) == 3 && arguments[0] == "subject":
		return subject(arguments[1], arguments[2])
	case len(arguments) == 3 && arguments[0] == "queue":
		return measureQueue(arguments[1], arguments[2])
	}
	return fmt.Errorf("unknown command\n%s", usage)
}
