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

package promtool_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// source is the data source, which users choose: the dashboards have no fixed one.
const source = "${datasource}"

type dashboard struct {
	Title       string  `json:"title"`
	UID         string  `json:"uid"`
	Panels      []panel `json:"panels"`
	Annotations struct {
		List []struct {
			Expr       string     `json:"expr"`
			Datasource datasource `json:"datasource"`
		} `json:"list"`
	} `json:"annotations"`
}

type panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  datasource `json:"datasource"`
	GridPos     area       `json:"gridPos"`
	Targets     []struct {
		RefID string `json:"refId"`
		Expr  string `json:"expr"`
	} `json:"targets"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type area struct{ X, Y, W, H int }

func (a area) overlaps(b area) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func TestDashboardsAskForKnownMetrics(t *testing.T) {
	chosen := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$job", ".+", "$namespace", ".+")
	onEach(t, func(t *testing.T, shown dashboard) {
		for _, annotation := range shown.Annotations.List {
			checkMetrics(t, "an annotation", annotation.Expr)
		}
		for _, panel := range shown.Panels {
			if panel.Type != "row" && len(panel.Targets) == 0 {
				t.Errorf("%s shows nothing", panel.Title)
			}
			for _, target := range panel.Targets {
				checkMetrics(t, panel.Title, chosen.Replace(target.Expr))
			}
		}
	})
}

func TestDashboardsUseTheDataSourceThatIsChosen(t *testing.T) { onEach(t, usesChosenSource) }

func usesChosenSource(t *testing.T, shown dashboard) {
	t.Helper()
	for _, annotation := range shown.Annotations.List {
		if annotation.Datasource != (datasource{"prometheus", source}) {
			t.Errorf("an annotation has the data source %v", annotation.Datasource)
		}
	}
	for _, panel := range shown.Panels {
		if panel.Type != "row" && panel.Datasource != (datasource{"prometheus", source}) {
			t.Errorf("%s has the data source %v", panel.Title, panel.Datasource)
		}
	}
}

func TestPanelsAreApartAndExplained(t *testing.T) {
	onEach(t, func(t *testing.T, shown dashboard) {
		for i, panel := range shown.Panels {
			if panel.Type != "row" && panel.Description == "" {
				t.Errorf("%s has no description", panel.Title)
			}
			if panel.GridPos.W < 1 || panel.GridPos.H < 1 || panel.GridPos.X+panel.GridPos.W > 24 {
				t.Errorf("%s has no room at %v", panel.Title, panel.GridPos)
			}
			for _, other := range shown.Panels[:i] {
				if panel.ID == other.ID || panel.GridPos.overlaps(other.GridPos) {
					t.Errorf("%s and %s have the same id or the same place", panel.Title, other.Title)
				}
			}
		}
	})
}

func TestDashboardsHaveNamesOfTheirOwn(t *testing.T) {
	known := map[string]bool{}
	onEach(t, func(t *testing.T, shown dashboard) {
		if shown.UID == "" || known[shown.UID] || known[shown.Title] {
			t.Errorf("another dashboard has the UID %q or the title %q", shown.UID, shown.Title)
		}
		known[shown.UID], known[shown.Title] = true, true
	})
}

// onEach runs a test on each dashboard.
func onEach(t *testing.T, test func(t *testing.T, shown dashboard)) {
	t.Helper()
	for _, file := range []string{"dashboard.json", "dashboard-releases.json", "dashboard-dora.json"} {
		t.Run(file, func(t *testing.T) {
			var shown dashboard
			if err := json.Unmarshal(read(t, "config/prometheus/"+file), &shown); err != nil {
				t.Fatal(err)
			}
			if len(shown.Panels) == 0 {
				t.Fatal("it has no panels")
			}
			test(t, shown)
		})
	}
}
