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

package events

import (
	"slices"

	"github.com/go-logr/logr"
)

// Lazy is the logger, but for the time at which values are formatted: when a line is written, not when they are given. Each
// reconcile is given a logger with values of its own, and most write nothing.
func Lazy(logger logr.Logger) logr.Logger {
	inner := logger.GetSink()
	if deep, ok := inner.(logr.CallDepthLogSink); ok {
		inner = deep.WithCallDepth(1) // of this sink's own methods
	}
	return logr.New(lazySink{inner: inner})
}

type lazySink struct {
	inner  logr.LogSink
	values []any
}

// Init has nothing to do: the inner sink was initialized by its own logger.
func (s lazySink) Init(logr.RuntimeInfo) {}

func (s lazySink) Enabled(level int) bool { return s.inner.Enabled(level) }

func (s lazySink) Info(level int, message string, values ...any) {
	s.inner.Info(level, message, slices.Concat(s.values, values)...)
}

func (s lazySink) Error(err error, message string, values ...any) {
	s.inner.Error(err, message, slices.Concat(s.values, values)...)
}

func (s lazySink) WithValues(values ...any) logr.LogSink {
	return lazySink{inner: s.inner, values: slices.Concat(s.values, values)}
}

func (s lazySink) WithName(name string) logr.LogSink {
	return lazySink{inner: s.inner.WithName(name), values: s.values}
}

func (s lazySink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.inner.(logr.CallDepthLogSink); ok {
		return lazySink{inner: deep.WithCallDepth(depth), values: s.values}
	}
	return s
}
