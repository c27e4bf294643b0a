package storage

import "encoding/json"

// jsonText returns the JSON text of a value for its column. It panics if the value cannot be encoded,
// which is a programming error.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("storage: " + err.Error())
	}
	return string(text)
}

// listText returns the JSON text of a list for its column, or "" if the list is empty.
func listText[T ~string](list []T) string {
	if len(list) == 0 {
		return ""
	}
	return jsonText(list)
}

// parseList parses a text that listText returned.
func parseList[T ~string](text string) (list []T, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &list)
	return list, err
}
