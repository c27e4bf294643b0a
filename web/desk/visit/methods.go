package visit

import (
	"slices"
	"strconv"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views/desk"
)

// MethodsField is the name of the choice of payment methods in errors.
const MethodsField = "payment_methods"

// MethodCodes returns the codes of the payment methods that a form offers: those that the server offers in the mode,
// and the chosen ones that it does not offer now.
func (v *Visit) MethodCodes(mode merchant.Mode, chosen merchant.Methods) []string {
	codes := v.Invoices.MethodCodes(invoice.Mode(mode))
	for _, code := range chosen.Codes() {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

// positionName returns the name of the field with the position of a payment method.
func positionName(code string) string { return "method-" + code }

// SetPositions adds the positions of chosen payment methods to the values of a form.
func SetPositions(values map[string]string, chosen merchant.Methods) {
	for i, code := range chosen.Codes() {
		values[positionName(code)] = strconv.Itoa(i + 1)
	}
}

// PositionNames returns the names of the fields with the positions of payment methods.
func PositionNames(codes []string) []string {
	names := make([]string, len(codes))
	for i, code := range codes {
		names[i] = positionName(code)
	}
	return names
}

// ChosenMethods returns the payment methods that have a position, in the order of their positions. The
// error is a *merchant.FieldError.
func ChosenMethods(values map[string]string, codes []string) ([]string, error) {
	positions := map[string]int{}
	chosen := []string{}
	for _, code := range codes {
		text := values[positionName(code)]
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, &merchant.FieldError{Field: MethodsField, Fault: "must have positions of the list"}
		}
		positions[code] = n
		chosen = append(chosen, code)
	}
	slices.SortStableFunc(chosen, func(a, b string) int { return positions[a] - positions[b] })
	return chosen, nil
}

// MethodChoices returns a list of positions to choose from for each payment method, with the values of a form. fault
// returns the error of the field with a name and a label.
func (v *Visit) MethodChoices(mode merchant.Mode, codes []string, values map[string]string, fault func(name, label string) string) []desk.Choice {
	choices := make([]desk.Choice, len(codes))
	for i, code := range codes {
		c := desk.Choice{Name: positionName(code), Label: v.methodName(mode, code)}
		c.Error = fault(c.Name, c.Label)
		for n := range len(codes) + 1 {
			o := desk.Option{Value: strconv.Itoa(n), Text: strconv.Itoa(n)}
			if n == 0 {
				o = desk.Option{Text: v.Text("desk.methods.none")}
			}
			o.Chosen = values[c.Name] == o.Value
			c.Options = append(c.Options, o)
		}
		choices[i] = c
	}
	return choices
}

// methodName returns the name of a payment method.
func (v *Visit) methodName(mode merchant.Mode, code string) string {
	a, ok := v.Invoices.AssetByCode(invoice.Mode(mode), code)
	switch {
	case !ok:
		return code
	case a.Contract != "" || a.Symbol != a.Code:
		return v.Text("desk.methods.on", "Asset", a.Symbol, "Network", a.NetworkName)
	}
	return strings.TrimSpace(a.Name)
}
