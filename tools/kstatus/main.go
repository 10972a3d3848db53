// Prints what kstatus makes of objects: a JSON list of them on stdin, a JSON list of their statuses on stdout.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  status.Status `json:"status"`
	Message string        `json:"message"`
}

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: kstatus < objects.json")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var objects []json.RawMessage
	if err := json.NewDecoder(in).Decode(&objects); err != nil {
		return fmt.Errorf("stdin is not a JSON list: %w", err)
	}
	verdicts := make([]verdict, 0, len(objects))
	for index, raw := range objects {
		object := &unstructured.Unstructured{}
		// It keeps integers apart from floats, as the API machinery wants them.
		if err := object.UnmarshalJSON(raw); err != nil {
			return fmt.Errorf("object %d: %w", index, err)
		}
		result, err := status.Compute(object)
		if err != nil {
			return fmt.Errorf("object %d: %w", index, err)
		}
		verdicts = append(verdicts, verdict{Status: result.Status, Message: result.Message})
	}
	return json.NewEncoder(out).Encode(verdicts)
}
