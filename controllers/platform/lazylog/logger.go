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

// Package lazylog provides a logger that formats its values lazily.
package lazylog

import (
	"slices"

	"github.com/go-logr/logr"
)

// New returns a logger that formats the values of WithValues when it writes a line. Each reconcile gets a logger with its own values,
// and most log nothing.
func New(logger logr.Logger) logr.Logger {
	inner := logger.GetSink()
	if deep, ok := inner.(logr.CallDepthLogSink); ok {
		inner = deep.WithCallDepth(1) // for the methods of this sink
	}
	return logr.New(sink{inner: inner})
}

type sink struct {
	inner  logr.LogSink
	values []any
}

// Init does nothing: the inner sink was initialized by its own logger.
func (s sink) Init(logr.RuntimeInfo) {}

func (s sink) Enabled(level int) bool { return s.inner.Enabled(level) }

func (s sink) Info(level int, message string, values ...any) {
	s.inner.Info(level, message, slices.Concat(s.values, values)...)
}

func (s sink) Error(err error, message string, values ...any) {
	s.inner.Error(err, message, slices.Concat(s.values, values)...)
}

func (s sink) WithValues(values ...any) logr.LogSink {
	return sink{inner: s.inner, values: slices.Concat(s.values, values)}
}

func (s sink) WithName(name string) logr.LogSink {
	return sink{inner: s.inner.WithName(name), values: s.values}
}

func (s sink) WithCallDepth(depth int) logr.LogSink {
	if deep, ok := s.inner.(logr.CallDepthLogSink); ok {
		return sink{inner: deep.WithCallDepth(depth), values: s.values}
	}
	return s
}
