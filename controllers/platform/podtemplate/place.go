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

package podtemplate

// place is the place of a value in a template.
type place struct {
	// path is the place as shown to users: spec.initContainers[setup].env[MODE].value.
	path string
	// pattern is the place as spelled in the lists of shown.go: spec.containers[].env[].value.
	pattern string
	depth   int
}

// unknownField is the pattern of a field that is on no list, whatever its name.
const unknownField = "[?]"

// field returns the place of a field of the object, or of an entry of the map, at this place.
func (p place) field(key string) place {
	switch {
	case p.isMap():
		return p.below("["+legible(key)+"]", "[]")
	case !isFieldName(key):
		return p.below("["+legible(key)+"]", unknownField)
	case p.path == "":
		return p.below(key, key)
	case p.pattern == "":
		return p.below("."+key, key)
	default:
		return p.below("."+key, "."+p.spelled(key))
	}
}

// element returns the place of an element of the list at this place.
func (p place) element(name string) place {
	return p.below("["+legible(name)+"]", "[]")
}

func (p place) below(path, pattern string) place {
	return place{path: cut(p.path + path), pattern: cut(p.pattern + pattern), depth: p.depth + 1}
}

// spelled returns the name of a field in the lists, which don't distinguish kinds of containers, probes and hooks.
func (p place) spelled(key string) string {
	switch p.pattern + "." + key {
	case "spec.initContainers", "spec.ephemeralContainers":
		return "containers"
	case "spec.containers[].livenessProbe", "spec.containers[].readinessProbe", "spec.containers[].startupProbe":
		return "*Probe"
	case "spec.containers[].lifecycle.postStart", "spec.containers[].lifecycle.preStop":
		return "*"
	default:
		return key
	}
}

// first returns the field that comes before all others, so that the limit of lines doesn't cut it off.
func (p place) first() string {
	switch p.pattern {
	case "spec":
		return "containers"
	case "spec.containers[]":
		return "image"
	default:
		return ""
	}
}

// isFieldName reports whether a key can be a field name in a pattern. Longer keys, or keys with other characters, would be ambiguous.
func isFieldName(key string) bool {
	for _, char := range key {
		if (char < 'a' || char > 'z') && (char < 'A' || char > 'Z') && (char < '0' || char > '9') {
			return false
		}
	}
	return key != "" && len(key) <= 63
}
