package sell

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/views/desk"
)

// methodCodes returns the payment methods that a form offers: those of the mode, and chosen ones that the
// server does not offer now.
func (v *page) methodCodes(mode merchant.Mode, chosen merchant.Methods) []string {
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

// setPositions adds the positions of chosen payment methods to the values of a form.
func setPositions(values map[string]string, chosen merchant.Methods) {
	for i, code := range chosen.Codes() {
		values[positionName(code)] = strconv.Itoa(i + 1)
	}
}

// positionNames returns the names of the fields with the positions of payment methods.
func positionNames(codes []string) []string {
	names := make([]string, len(codes))
	for i, code := range codes {
		names[i] = positionName(code)
	}
	return names
}

// chosenMethods returns the payment methods that have a position, in the order of their positions. The
// error is a *merchant.FieldError.
func chosenMethods(values map[string]string, codes []string) ([]string, error) {
	at := map[string]int{}
	chosen := []string{}
	for _, code := range codes {
		text := values[positionName(code)]
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, &merchant.FieldError{Field: methodsField, Fault: "must have positions of the list"}
		}
		at[code] = n
		chosen = append(chosen, code)
	}
	slices.SortStableFunc(chosen, func(a, b string) int { return at[a] - at[b] })
	return chosen, nil
}

// methodsField is the name of the choice of payment methods in errors.
const methodsField = "payment_methods"

// methodChoice returns the part of a form that chooses payment methods.
func (f *form) methodChoice(mode merchant.Mode, codes []string) desk.MethodChoice {
	m := desk.MethodChoice{Legend: f.Text("desk.methods.choice"), Hint: f.Text("desk.methods.choice.hint")}
	if wrong, ok := errors.AsType[*merchant.FieldError](f.problem); ok && wrong.Field == methodsField {
		m.Error = f.fault(methodsField, m.Legend)
	}
	positions := []string{"", f.Text("desk.methods.none")}
	for i := range codes {
		n := strconv.Itoa(i + 1)
		positions = append(positions, n, n)
	}
	for _, code := range codes {
		label := code
		if a, ok := f.Invoices.AssetByCode(invoice.Mode(mode), code); ok {
			label = strings.TrimSpace(a.Name)
			if a.Contract != "" || a.Symbol != a.Code {
				label = f.Text("desk.methods.on", "Asset", a.Symbol, "Network", a.NetworkName)
			}
		}
		c := f.choice(positionName(code), label, positions...).Choice
		m.Open = m.Open || f.values[positionName(code)] != "" || c.Error != ""
		m.Choices = append(m.Choices, c)
	}
	m.Open = m.Open || m.Error != ""
	return m
}
