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

package lazylog_test

import (
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/lazylog"
)

// shown is a value that counts how often it is formatted.
type shown struct{ times *int }

func (s shown) MarshalLog() any {
	*s.times++
	return "shown"
}

func TestNewFormatsValuesWhenALineIsWritten(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	var times int
	eager := funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{})
	logger := lazylog.New(eager).WithName("pod").WithValues("pod", shown{&times}).WithValues("namespace", "shop")
	g.Expect(times).To(BeZero())

	logger.Info("A pod is finished", "release", 3)
	logger.V(1).Info("not written at level info")
	logger.WithName("patch").Error(errors.New("quota"), "Labelling a pod")
	g.Expect(times).To(Equal(2))
	g.Expect(lines).To(Equal([]string{
		`{"logger":"pod","level":0,"msg":"A pod is finished","pod":"shown","namespace":"shop","release":3}`,
		`{"logger":"pod/patch","msg":"Labelling a pod","error":"quota","pod":"shown","namespace":"shop"}`,
	}))
}

func TestNewLoggersDoNotShareTheirValues(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	base := lazylog.New(funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{})).WithValues("a", 1)
	first, second := base.WithValues("b", 2), base.WithValues("c", 3)
	first.Info("first")
	second.Info("second")
	g.Expect(lines).To(Equal([]string{
		`{"logger":"","level":0,"msg":"first","a":1,"b":2}`,
		`{"logger":"","level":0,"msg":"second","a":1,"c":3}`,
	}))
}

func TestNewNamesTheLineOfTheCaller(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	eager := funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{LogCaller: funcr.All})
	lazylog.New(eager).WithCallDepth(0).Info("here")
	g.Expect(lines).To(HaveExactElements(ContainSubstring(`"file":"logger_test.go"`)))
}

// plain is a sink without support for call depths.
type plain struct{ logr.LogSink }

func TestNewTakesASinkThatNamesNoLines(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	inner := funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{})
	lazylog.New(logr.New(plain{inner.GetSink()})).WithCallDepth(2).Info("here", "a", 1)
	g.Expect(lines).To(Equal([]string{`{"logger":"","level":0,"msg":"here","a":1}`}))
}
