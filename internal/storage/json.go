package storage

import "encoding/json"

// jsonText returns the text of a frozen value for its column. All its callers pass rows that can be
// encoded.
func jsonText(row any) string {
	text, err := json.Marshal(row)
	if err != nil {
		panic("storage: " + err.Error())
	}
	return string(text)
}

// listText returns the text of a list of words for its column, "" if it is empty.
func listText[T ~string](words []T) string {
	if len(words) == 0 {
		return ""
	}
	return jsonText(words)
}

// parseList parses the text of listText.
func parseList[T ~string](text string) (words []T, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &words)
	return words, err
}
