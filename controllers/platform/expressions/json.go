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

package expressions

import (
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// jsonOf converts a CEL value to a JSON value.
func jsonOf(value ref.Val) (any, error) {
	switch value := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(value), nil
	case types.Int:
		return int64(value), nil
	case types.Double:
		return float64(value), nil
	case types.String:
		return string(value), nil
	case types.Timestamp:
		return value.Time.UTC().Format(time.RFC3339Nano), nil
	case traits.Mapper:
		return jsonObject(value)
	case traits.Lister:
		return jsonList(value)
	default:
		return nil, fmt.Errorf("a value of type %s has no JSON form", value.Type().TypeName())
	}
}

func jsonObject(value traits.Mapper) (any, error) {
	fields := map[string]any{}
	for keys := value.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		name, isText := key.(types.String)
		if !isText {
			return nil, fmt.Errorf("a field name has type %s, not string", key.Type().TypeName())
		}
		field, err := jsonOf(value.Get(key))
		if err != nil {
			return nil, err
		}
		fields[string(name)] = field
	}
	return fields, nil
}

func jsonList(value traits.Lister) (any, error) {
	elements := []any{}
	for iterator := value.Iterator(); iterator.HasNext() == types.True; {
		element, err := jsonOf(iterator.Next())
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, nil
}
