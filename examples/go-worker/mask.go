package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"sort"
	"strings"
)

var maskText = []byte("***")

// formsOf answers each secret as it is, and as it looks inside JSON, an address and Base64; the longest first.
func formsOf(secrets []string) [][]byte {
	seen := map[string]bool{"": true}
	var forms [][]byte
	add := func(form string) {
		if !seen[form] {
			seen[form] = true
			forms = append(forms, []byte(form))
		}
	}
	for _, secret := range secrets {
		add(secret)
		if quoted, err := json.Marshal(secret); err == nil {
			add(string(quoted[1 : len(quoted)-1]))
		}
		add(url.QueryEscape(secret))
		add(strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"))
		add(base64.StdEncoding.EncodeToString([]byte(secret)))
		add(base64.URLEncoding.EncodeToString([]byte(secret)))
	}
	sort.SliceStable(forms, func(i, j int) bool { return len(forms[i]) > len(forms[j]) })
	return forms
}

func masked(text []byte, forms [][]byte) []byte {
	for _, form := range forms {
		text = bytes.ReplaceAll(text, form, maskText)
	}
	return text
}

// streamMask takes secrets out of one stream of bytes. It keeps back an end that may be the beginning of a secret until more has come,
// so that a secret that is split over two writes is found too.
type streamMask struct {
	forms [][]byte
	kept  []byte
}

func (m *streamMask) write(chunk []byte) []byte {
	if len(m.forms) == 0 {
		return bytes.Clone(chunk)
	}
	text := masked(append(bytes.Clone(m.kept), chunk...), m.forms)
	keep := m.lengthToKeep(text)
	m.kept = bytes.Clone(text[len(text)-keep:])
	return text[:len(text)-keep]
}

func (m *streamMask) end() []byte {
	kept := m.kept
	m.kept = nil
	return kept
}

func (m *streamMask) lengthToKeep(text []byte) int {
	for length := min(len(text), len(m.forms[0])-1); length > 0; length-- {
		tail := text[len(text)-length:]
		for _, form := range m.forms {
			if len(form) > length && bytes.HasPrefix(form, tail) {
				return length
			}
		}
	}
	return 0
}
