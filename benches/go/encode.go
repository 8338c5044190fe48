package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// encode reads Pods as JSON and writes each as a protobuf message without an envelope, preceded by its length.
func encode(from io.Reader, to io.Writer) error {
	lines := bufio.NewReader(from)
	out := bufio.NewWriter(to)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return out.Flush()
		}
		if err != nil && err != io.EOF {
			return err
		}
		var pod corev1.Pod
		if err := json.Unmarshal(line, &pod); err != nil {
			return fmt.Errorf("not a Pod: %w", err)
		}
		message, err := pod.Marshal()
		if err != nil {
			return err
		}
		if err := binary.Write(out, binary.BigEndian, uint32(len(message))); err != nil {
			return err
		}
		if _, err := out.Write(message); err != nil {
			return err
		}
	}
}

// compare checks that the load server's lists in JSON and protobuf contain equal Pods.
func compare(url string) error {
	inJSON, err := list(url, "application/json")
	if err != nil {
		return err
	}
	inProtobuf, err := list(url, protobuf)
	if err != nil {
		return err
	}
	if len(inJSON) != len(inProtobuf) {
		return fmt.Errorf("%d Pods in JSON, %d in protobuf", len(inJSON), len(inProtobuf))
	}
	for i := range inJSON {
		if !equality.Semantic.DeepEqual(inJSON[i], inProtobuf[i]) {
			return fmt.Errorf("%s/%s differs in JSON and protobuf", inJSON[i].Namespace, inJSON[i].Name)
		}
	}
	fmt.Println(len(inJSON))
	return nil
}

func list(url, contentType string) ([]corev1.Pod, error) {
	config := &rest.Config{Host: url, ContentConfig: rest.ContentConfig{ContentType: contentType}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pods, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{Limit: 2000})
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}
