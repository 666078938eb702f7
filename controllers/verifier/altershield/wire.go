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

package altershield

import (
	"bytes"
	"encoding/json"
)

// compact returns JSON in one line without a trailing line break, as the server signs the joined lines of a body. It doesn't escape
// <, > and &, as the server doesn't in the query that it signs.
func compact(value any) ([]byte, error) {
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(written.Bytes(), []byte("\n")), nil
}

// jsonText is encoded as JSON inside a string, the form of values that the server doesn't parse.
type jsonText struct{ content any }

func (t jsonText) MarshalJSON() ([]byte, error) {
	inner, err := compact(t.content)
	if err != nil {
		return nil, err
	}
	return compact(string(inner))
}

// text is a string that also accepts a number or a boolean. Anything else leaves it empty.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		return json.Unmarshal(raw, (*string)(t))
	case 'n', '{', '[':
		return nil
	}
	*t = text(raw)
	return nil
}

// lenient is empty if the value has another type.
type lenient[T any] struct{ value T }

func (l *lenient[T]) UnmarshalJSON(raw []byte) error {
	var value T
	if json.Unmarshal(raw, &value) == nil {
		l.value = value
	}
	return nil
}
