package sweep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/config"
)

// newAccountGas is the gas of a transaction that sends the coin to a new account with EIP-8037.
const newAccountGas = 183_600

// withNewAccountGas returns the URL of an endpoint in front of a node at which coin for a new account takes newAccountGas.
func (s *shop) withNewAccountGas(t *testing.T, account string) string {
	t.Helper()
	return newChangingEndpoint(t, s.RPC, func(method string, params []any, result json.RawMessage) json.RawMessage {
		if method != "eth_estimateGas" && method != "eth_call" {
			return result
		}
		message := params[0].(map[string]any)
		if to, _ := message["to"].(string); !strings.EqualFold(to, account) || message["value"] == nil {
			return result
		}
		if method == "eth_estimateGas" {
			return json.RawMessage(fmt.Sprintf(`"0x%x"`, newAccountGas))
		}
		if gas, err := strconv.ParseInt(message["gas"].(string), 0, 64); err != nil || gas < newAccountGas {
			return nil
		}
		return result
	})
}

// The first address has coin already, the second one is a new account, which takes more gas.
func TestPlan_has_gas_for_coin_to_new_accounts(t *testing.T) {
	t.Parallel()
	s := newPlainShop(t, 2)
	for _, a := range s.addresses {
		s.hold(t, usdbcBase, a, 500_000_000)
	}
	s.Call(t, nil, "anvil_setBalance", s.addresses[0].String(), "0x64")
	s.fund(t, payer, 1000)
	s.deepen(t)
	d, err := s.newPlannerThrough(t, s.withNewAccountGas(t, s.addresses[1].String())).Draft(t.Context(), fundRequest())
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Plan.Payer.FundGas; got < newAccountGas {
		t.Errorf("the gas of a transaction that funds an address is %d, want %d and a margin", got, newAccountGas)
	}
	if d.Plan.FeeMax.Amount.Cmp(d.Plan.FeeCap()) < 0 {
		t.Errorf("the highest fee is %s, and the transactions may cost %s", d.Plan.FeeMax.Amount, d.Plan.FeeCap())
	}
}

// Coin for new accounts takes more gas since the plan was made. Nothing is sent that would fail.
func TestSend_funds_no_address_that_would_not_get_the_coin(t *testing.T) {
	t.Parallel()
	d := newFundedDealOf(t, 2)
	wrong := d.withNewAccountGas(t, d.addresses[0].String())
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=" + wrong + ",two=" + wrong, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSender(t.Context(), c, d.open(t), fixedRates(t), "shop", d.signed, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Outlook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Moves, []int{2}) || o.Transactions != 1 || len(o.Failing) != 1 || o.Failing[0].Why != reasonCoin {
		t.Errorf("moves %v in %d transactions, failing %+v", o.Moves, o.Transactions, o.Failing)
	}
}
