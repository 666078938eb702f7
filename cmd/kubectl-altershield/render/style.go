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

package render

import (
	"fmt"
	"time"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Style is how to print.
type Style struct {
	// Width and Height are those of the terminal; 0 for no limit.
	Width, Height int
	// Colour allows escape sequences, ASCII forbids all but ASCII characters in what the plugin adds.
	Colour, ASCII bool
	// Language is the language of sentences. States, reasons, flags and what the operator recorded stay English.
	Language Language
	// Wide adds columns.
	Wide bool
	// Now is the present time, in the time zone of the user.
	Now time.Time
}

// colour is an ANSI colour.
type colour string

const (
	plain  colour = ""
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	faint  colour = "2"
	bold   colour = "1"
)

func (s Style) paint(with colour, text string) string {
	if !s.Colour || with == plain || text == "" {
		return text
	}
	return "\x1b[" + string(with) + "m" + text + "\x1b[0m"
}

// mark is the sign of a state, which always stands beside its word.
type mark struct {
	sign, ascii string
	colour      colour
}

func markOf(state view.State) mark {
	switch state {
	case view.Success:
		return mark{"✔", "+", green}
	case view.Suspend, view.Failed:
		return mark{"✖", "x", red}
	case view.RolledBack:
		return mark{"↩", "<", yellow}
	case view.Waiting:
		return mark{"⏸", "=", yellow}
	case view.Superseded, view.NotChecked:
		return mark{"○", "-", faint}
	}
	return mark{"◌", "o", plain}
}

func (s Style) sign(of mark) string {
	if s.ASCII {
		return of.ascii
	}
	return of.sign
}

// state returns a state with its mark.
func (s Style) state(state view.State) string { return s.sign(markOf(state)) + " " + string(state) }

// age returns how long ago something was, as kubectl does.
func (s Style) age(seconds int64) string {
	const minute, hour, day = 60, 3600, 86400
	switch {
	case seconds < 0:
		return "0s"
	case seconds < 2*minute:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 10*minute && seconds%minute != 0:
		return fmt.Sprintf("%dm%ds", seconds/minute, seconds%minute)
	case seconds < 2*hour:
		return fmt.Sprintf("%dm", seconds/minute)
	case seconds < 8*hour && seconds/minute%60 != 0:
		return fmt.Sprintf("%dh%dm", seconds/hour, seconds/minute%60)
	case seconds < 2*day:
		return fmt.Sprintf("%dh", seconds/hour)
	}
	return fmt.Sprintf("%dd", seconds/day)
}

func (s Style) since(at time.Time) string { return s.age(int64(s.Now.Sub(at).Seconds())) }

// moment returns a time in the user's time zone.
func (s Style) moment(at time.Time) string {
	return at.In(s.Now.Location()).Format("2006-01-02 15:04:05")
}

// shortVersion returns the first digits of a version, which are enough for people.
func shortVersion(version string) string { return version[:min(len(version), 7)] }

func (s Style) arrow() string {
	if s.ASCII {
		return "->"
	}
	return "→"
}

func (s Style) dot() string {
	if s.ASCII {
		return " - "
	}
	return " · "
}
