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

// Command soak runs a random actor together with the operator for a while, on a real control plane with fake nodes and a test server,
// and continuously checks invariants. It exits with 1 if one was violated.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func main() {
	options := options{}
	flag.DurationVar(&options.duration, "duration", 30*time.Minute, "how long the actor acts, not counting the duration of its actions; the same seed and duration yield the same actions")
	flag.Uint64Var(&options.seed, "seed", 0, "seed of the actions; 0: derived from the time")
	flag.StringVar(&options.manager, "manager", "bin/manager-soak", "`program` of the manager")
	flag.StringVar(&options.config, "config", "hack/soak/config", "kustomization `folder` to install")
	flag.StringVar(&options.out, "out", "bin/soak", "`folder` for the logs of the actor and of the manager")
	flag.Parse()
	if options.seed == 0 {
		options.seed = uint64(time.Now().UnixNano())
	}
	lab.Main("soak", func(ctx context.Context) error { return run(ctx, options, os.Stdout) })
}

var errViolated = errors.New("an invariant was violated")
