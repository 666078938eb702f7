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

package decide

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// timeFormat is the documented format of times. They are in UTC: a text without a zone must not depend on where the operator runs.
const timeFormat = "2006-01-02 15:04:05"

// Stamp returns a time as the documented pair of text and Unix seconds.
func Stamp(now time.Time) (text string, unix int64) {
	return now.UTC().Format(timeFormat), now.Unix()
}

// StoredTime returns a time as the API server stores it, nil for none.
func StoredTime(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at.Truncate(time.Second)}
}

// Sooner returns the shorter of two waits, of which 0 is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
