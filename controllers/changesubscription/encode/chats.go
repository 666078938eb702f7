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

package encode

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
)

const (
	// mostDingTalk and mostWeCom are the most bytes of a text that these take.
	mostDingTalk = 18000
	mostWeCom    = 2000
	// mostSlackTitle is the most characters of a title that Slack takes.
	mostSlackTitle = 150
)

type object = map[string]any

// dingTalk returns a message in Markdown. It rings for no user.
func dingTalk(card card) object {
	var text strings.Builder
	text.WriteString("#### " + markdown(card.Title) + "\n\n")
	for _, line := range card.Lines {
		text.WriteString("- **" + markdown(line.Label) + "** " + markdown(line.Text) + "\n")
	}
	if card.Link != "" {
		text.WriteString("\n[" + markdown(card.LinkText) + "](" + card.Link + ")\n")
	}
	return object{
		"msgtype":  "markdown",
		"markdown": object{"title": quiet(card.Title), "text": cut(text.String(), mostDingTalk)},
		"at":       object{"isAtAll": false},
	}
}

// dingTalkQuery returns the time and the signature in the address.
func dingTalkQuery(facts Facts) url.Values {
	if facts.Secret == "" {
		return nil
	}
	at := strconv.FormatInt(facts.Now.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(facts.Secret))
	mac.Write([]byte(at + "\n" + facts.Secret))
	return url.Values{"timestamp": {at}, "sign": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
}

// feishu returns a card of plain text, in which nothing is markup.
func feishu(card card, facts Facts) object {
	color := "blue"
	switch {
	case card.Failure:
		color = "red"
	case card.Good:
		color = "green"
	}
	text := func(content string) object { return object{"tag": "plain_text", "content": content} }
	elements := []object{}
	for _, line := range card.Lines {
		elements = append(elements, object{"tag": "div", "text": text(line.Label + ": " + line.Text)})
	}
	if card.Link != "" {
		button := object{"tag": "button", "type": "default", "text": text(card.LinkText), "url": card.Link}
		elements = append(elements, object{"tag": "action", "actions": []object{button}})
	}
	message := object{"msg_type": "interactive", "card": object{
		"config": object{"wide_screen_mode": true}, "header": object{"template": color, "title": text(card.Title)}, "elements": elements,
	}}
	if facts.Secret != "" {
		at := strconv.FormatInt(facts.Now.Unix(), 10)
		mac := hmac.New(sha256.New, []byte(at+"\n"+facts.Secret)) // of nothing
		message["timestamp"], message["sign"] = at, base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return message
}

// weCom returns a message of plain text, in which nothing is markup.
func weCom(card card) object {
	return object{"msgtype": "text", "text": object{"content": cut(text(card), mostWeCom)}}
}

// text returns a card as plain text.
func text(card card) string {
	lines := []string{card.Title}
	for _, line := range card.Lines {
		lines = append(lines, line.Label+": "+line.Text)
	}
	if card.Link != "" {
		lines = append(lines, card.Link)
	}
	return strings.Join(lines, "\n")
}

// slack returns a message of blocks of plain text. What is shown where blocks aren't is escaped.
func slack(card card) object {
	title := []rune(card.Title)
	blocks := []object{{"type": "header", "text": object{"type": "plain_text", "text": escaped(string(title[:min(len(title), mostSlackTitle)]))}}}
	for _, line := range card.Lines {
		blocks = append(blocks, object{"type": "section", "text": object{"type": "plain_text", "text": escaped(line.Label + ": " + line.Text)}})
	}
	if card.Link != "" {
		blocks = append(blocks, object{"type": "actions", "elements": []object{{
			"type": "button", "text": object{"type": "plain_text", "text": escaped(card.LinkText)}, "url": card.Link,
		}}})
	}
	return object{"text": escaped(card.Title), "blocks": blocks}
}

// teams returns an Adaptive Card of runs of text, in which nothing is markup.
func teams(card card) object {
	run := func(text string, bold bool) object {
		weight := "Default"
		if bold {
			weight = "Bolder"
		}
		return object{"type": "TextRun", "text": text, "weight": weight}
	}
	paragraph := func(runs ...object) object { return object{"type": "RichTextBlock", "inlines": runs} }
	body := []object{paragraph(run(card.Title, true))}
	for _, line := range card.Lines {
		body = append(body, paragraph(run(line.Label+": ", true), run(line.Text, false)))
	}
	content := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body}
	if card.Link != "" {
		content["actions"] = []object{{"type": "Action.OpenUrl", "title": card.LinkText, "url": card.Link}}
	}
	return object{"type": "message", "attachments": []object{{"contentType": "application/vnd.microsoft.card.adaptive", "content": content}}}
}

// plain returns the text of a message, and the events that it is about.
func plain(card card, batch notice.Batch) object {
	events := make([]object, len(batch.Events))
	for i := range batch.Events {
		event := &batch.Events[i]
		events[i] = object{
			"id": event.ID, "event": event.Name, "time": event.At, "namespace": event.Namespace, "kind": event.Workload.Kind, "name": event.Workload.Name,
			"release": event.Release, "version": event.Version, "releasedBy": event.By, "reason": event.Reason, "message": event.Message,
		}
	}
	return object{"title": card.Title, "text": text(card), "events": events}
}

// markdown escapes what is markup in Markdown, and what would ring.
func markdown(text string) string {
	var escaped strings.Builder
	for _, letter := range quiet(text) {
		if strings.ContainsRune("\\`*_{}[]()#+-.!|~", letter) {
			escaped.WriteByte('\\')
		}
		switch letter {
		case '<':
			escaped.WriteString("&lt;")
		case '>':
			escaped.WriteString("&gt;")
		case '&':
			escaped.WriteString("&amp;")
		default:
			escaped.WriteRune(letter)
		}
	}
	return escaped.String()
}

// quiet returns a text in which @ addresses no user: a space without a width follows it.
func quiet(text string) string { return strings.ReplaceAll(text, "@", "@\u200b") }

// escaped escapes the control characters of Slack.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// cut returns a text of at most some bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const ending = "…"
	end := most - len(ending)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ending
}
