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
// Package jsonpointer finds values of untyped objects by JSON pointer (RFC 6901).
package jsonpointer

import (
	"strconv"
	"strings"
)

// Of returns the pointer to a value below these keys of objects and indices of lists.
func Of(keys ...string) string {
	var pointer strings.Builder
	for _, key := range keys {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return pointer.String()
}

// Keys returns the keys and indices of a pointer.
func Keys(pointer string) []string {
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, key := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
	}
	return keys
}

// Find returns the value below these keys and indices, nil if there is none.
func Find(value any, keys ...string) any {
	for _, key := range keys {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			value = parent[i]
		default:
			return nil
		}
	}
	return value
}
