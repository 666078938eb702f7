/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Command series runs a Prometheus with made-up series of the pods of the local cluster, for checks of metrics to look at, until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

func main() {
	kubeconfig := flag.String("kubeconfig", ".local/kubeconfig", "kubeconfig `file` of the cluster")
	port := flag.Int("port", 9090, "`port` of Prometheus")
	flag.Parse()
	lab.Main("series", func(ctx context.Context) error { return run(ctx, *kubeconfig, *port) })
}

func run(ctx context.Context, kubeconfig string, port int) error {
	if err := cluster.CheckPorts(cluster.Port{Number: port, For: "Prometheus", Setting: "--port=<port> of go run ./hack/series"}); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("%w: run make up first", err)
	}
	kube, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to the cluster of %s: %w", kubeconfig, err)
	}
	programs, err := prometheus.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	metrics, err := lab.ServeHTTP(ctx, prometheus.Metrics(kube), lab.AnyPort, "")
	if err != nil {
		return fmt.Errorf("serve the metrics of the pods: %w", err)
	}
	dir, err := os.MkdirTemp("", "series-")
	if err != nil {
		return fmt.Errorf("create a folder for Prometheus: %w", err)
	}
	defer os.RemoveAll(dir)
	programs.Listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	address, end, err := programs.StartScraping(ctx, dir, metrics)
	if err != nil {
		return err
	}
	defer end()
	fmt.Printf("Prometheus is at %s, with series of the pods of %s; Ctrl-C ends it\n", address, config.Host)
	<-ctx.Done()
	return nil
}
