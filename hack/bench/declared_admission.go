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

package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func writtenGadgets() written {
	return written{
		kind:     gadgetKind(),
		create:   func(namespace, name string) (client.Object, error) { return gadget(lab.Deployment(namespace, name, 0)) },
		webhooks: []string{"/mutate-kind", "/validate-kind"},
	}
}

// runDeclaredAdmission measures how long writes of Deployments and of a declared kind take, with and without webhooks.
func runDeclaredAdmission(ctx context.Context, b *bench) (figures []Figure, err error) {
	err = withGadgets(ctx, b, func(l *lab.Lab) error {
		if err := (setup{batch: 1}).prepare(ctx, l, b.managerArgs()...); err != nil {
			return err
		}
		if err := l.Namespace(ctx, "probe", true); err != nil {
			return err
		}
		if err := awaitDeclared(ctx, l, "probe"); err != nil {
			return err
		}
		for _, who := range []clients{{count: 1, groups: 3, group: 20}, {count: 8, groups: 3, group: 160}} {
			took, err := who.run(ctx, l, writtenDeployments(), writtenGadgets())
			if err != nil {
				return err
			}
			figures = append(figures, admittedFigures(who, took[0], took[1])...)
		}
		return nil
	})
	return figures, err
}

// admittedFigures compares writes of a declared kind with those of Deployments.
func admittedFigures(who clients, deployments, declared admitted) []Figure {
	name := func(kind string) string { return who.String() + ", " + kind }
	figures := deployments.figures(loadDeclaredAdmission, name(setupDeployments))
	figures = append(figures, declared.figures(loadDeclaredAdmission, name(setupDeclared))...)
	compare := func(what string, percent float64) {
		for _, operation := range operations() {
			figures = append(figures, Figure{
				Load: loadDeclaredAdmission, Setup: name(setupCompared), Name: operation + ": " + what + " with webhooks",
				Summary: ratio([]float64{percentile(declared.with[operation], percent)}, []float64{percentile(deployments.with[operation], percent)}),
			})
		}
	}
	compare("p50", 50)
	compare("p99", 99)
	return figures
}
