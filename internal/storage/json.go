package storage

import "encoding/json"

// jsonText is a frozen value as its column keeps it. The rows given to it are
// ours and always have a JSON form.
func jsonText(row any) string {
	text, err := json.Marshal(row)
	if err != nil {
		panic("storage: " + err.Error())
	}
	return string(text)
}

// listText is a list of words as its column keeps it, "" when it is empty.
func listText[T ~string](words []T) string {
	if len(words) == 0 {
		return ""
	}
	return jsonText(words)
}

// parseList reads what listText wrote.
func parseList[T ~string](text string) (words []T, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &words)
	return words, err
}
