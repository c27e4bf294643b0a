package sweeps

import (
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/internal/chain/ethereum"
	"chequer/internal/evm"
	"chequer/internal/format"
	"chequer/internal/sweep/plan"
	"chequer/internal/sweep/recorded"
	"chequer/static"
	"chequer/views"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// send asks for the signed file of a plan.
func (v *page) send() error {
	r, err := v.find()
	if err != nil {
		return err
	}
	return v.showSending(http.StatusOK, r, recorded.Proposal{}, "", "")
}

// showSending shows the form for the signed file, with the error of the file and a problem, and with what the wallet can send.
func (v *page) showSending(status int, r recorded.Sweep, proposed recorded.Proposal, fileError, problem string) error {
	p := r.Plan
	heading := v.Text("desk.sweep.send")
	f, err := v.Frame(heading, visit.WalletsPath)
	if err != nil {
		return err
	}
	shown := desk.SweepSending{
		Frame: f, Back: views.Link{Text: p.SumText(), URL: v.below(p, "")}, Heading: heading, Problem: problem, Action: v.below(p, "/send"),
		File:    desk.Field{Name: "file", Label: v.Text("desk.sweep.file"), Hint: v.Text("desk.sweep.file.hint", "Fingerprint", p.Fingerprint()), Error: fileError},
		Network: p.Network.Name, Coin: p.Network.Coin, Chain: strconv.FormatUint(p.Network.ChainID, 10), Contract: evm.Multicall3.String(),
		Ask: v.below(p, "/ask"), Record: v.below(p, "/sent"),
	}
	if problem == "" && fileError == "" {
		shown.Fault = v.unpayable(r)
	}
	if proposed.Fault != "" {
		shown.Fault = v.Text("desk.sweep.fault", "Reason", proposed.Fault)
	}
	v.addCarriers(&shown, r, proposed)
	for _, failing := range proposed.Failing {
		line := v.line(r, failing.Number, nil)
		line.State, line.Why = v.rowState(failing.State), failing.Why
		shown.Failing = append(shown.Failing, line)
	}
	return v.Show(status, desk.SweepSendingPage(shown))
}

// unpayable returns why a browser wallet cannot pay for rows of a plan; "" if it can.
func (v *page) unpayable(r recorded.Sweep) string {
	switch {
	case r.Plan.Payer != nil:
		return v.Text("desk.sweep.note.payer")
	case !r.StoppedAt.IsZero():
		return v.Text("desk.sweep.note.stopped")
	case isOver(r, v.Now().Add(plan.EndMargin)):
		return v.Text("desk.sweep.note.over", "Time", r.Plan.Until())
	case openTokens(r) == 0:
		return v.Text("desk.sweep.nothing")
	}
	return ""
}

// addCarriers adds the transactions of a proposal, with their sums.
func (v *page) addCarriers(shown *desk.SweepSending, r recorded.Sweep, proposed recorded.Proposal) {
	p, total := r.Plan, new(big.Int)
	var all []int
	for i, c := range proposed.Carriers {
		all = append(all, c.Rows...)
		total.Add(total, c.Fee)
		rows := encodeRows(c.Rows)
		shown.Carriers = append(shown.Carriers, desk.SweepCarrier{
			Heading: v.Text("desk.sweep.carrier", "Number", strconv.Itoa(i+1), "All", strconv.Itoa(len(proposed.Carriers))),
			Text: v.Words.Count("desk.sweep.carrier.text", len(c.Rows), "Sum", p.SumTextOf(c.Rows), "Gas", format.Grouped(int64(c.Estimate)), "Limit", format.Grouped(int64(c.Gas)),
				"Fee", p.CoinText(c.Fee)),
			Rows: rows, Proof: v.Seal(sealed(p.ID, rows)), Data: "0x" + hex.EncodeToString(c.Data), Gas: "0x" + strconv.FormatUint(c.Gas, 16),
		})
	}
	if sent := r.Count(recorded.Sent); sent > 0 {
		shown.Waiting = v.Words.Count("desk.sweep.waiting", sent)
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	shown.Script = v.Address(static.Path("sweep.js"))
	shown.Summary = v.Words.Count("desk.sweep.summary", len(all), "Sum", p.SumTextOf(all), "Address", p.To.String(), "Transactions", strconv.Itoa(len(proposed.Carriers)),
		"Fee", p.CoinText(total))
}

// check verifies a signed file, and shows what the wallet can send. Neither the file nor the answer is kept.
func (v *page) check() error {
	v.ForgetAnswer()
	r, err := v.find()
	if err != nil {
		return err
	}
	content, err := v.signedFile()
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return v.showSending(http.StatusUnprocessableEntity, r, recorded.Proposal{}, v.Text("desk.sweep.file.missing"), "")
	}
	proposed, err := v.Network.Propose(v.Request().Context(), v.Shop.ID, r.Plan.ID, content)
	if fault, ok := errors.AsType[*recorded.FileError](err); ok {
		return v.showSending(http.StatusUnprocessableEntity, r, recorded.Proposal{}, v.Text("desk.sweep.file.refused", "Reason", fault.Error()), "")
	}
	if err != nil {
		problem := v.problem(r, err)
		if problem == "" {
			return notFound(err)
		}
		return v.showSending(http.StatusServiceUnavailable, r, recorded.Proposal{}, "", problem)
	}
	return v.showSending(http.StatusOK, proposed.Sweep, proposed, "", "")
}

// signedFile returns the file that the form sends, with at most one byte more than a signed file may have; nil if it sends none.
func (v *page) signedFile() ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(v.Request().Header.Get(echo.HeaderContentType)); err != nil || kind != echo.MIMEMultipartForm {
		return nil, nil
	}
	header, err := v.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := header.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, plan.MaxFile+1))
}

// encodeRows returns the numbers of rows as a form sends them.
func encodeRows(rows []int) string {
	texts := make([]string, len(rows))
	for i, n := range rows {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// sealed returns the text of which a form has the proof: the rows of a carrier that the session saw.
func sealed(id, rows string) string { return "sweep " + id + " rows " + rows }

// carried returns the rows of the form. It returns an error if this session did not see a carrier with them.
func (v *page) carried(r recorded.Sweep) (rows []int, err error) {
	text := v.FormValue("rows")
	if !v.IsSealed(sealed(r.Plan.ID, text), v.FormValue("proof")) {
		return nil, echo.NewHTTPError(http.StatusUnprocessableEntity)
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > len(r.Rows) {
			return nil, echo.NewHTTPError(http.StatusUnprocessableEntity)
		}
		rows = append(rows, n)
	}
	return rows, nil
}

// reply is the answer to the script. Error is empty if there is none.
type reply struct {
	Error string `json:"error,omitempty"`
	Text  string `json:"text,omitempty"`
}

// ask answers whether the wallet may be asked for a carrier: the plan is valid, and no other transaction carries the rows.
func (v *page) ask() error {
	r, err := v.find()
	if err != nil {
		return err
	}
	rows, err := v.carried(r)
	if err != nil {
		return err
	}
	for _, n := range rows {
		if state := r.Rows[n-1].State; state == recorded.Sent || state == recorded.Moved {
			return v.JSON(http.StatusConflict, reply{Error: v.Text("desk.sweep.taken")})
		}
	}
	if fault := v.unpayable(r); fault != "" {
		return v.JSON(http.StatusConflict, reply{Error: fault})
	}
	return v.JSON(http.StatusOK, reply{})
}

// sent records the hash of a transaction that the wallet sent. The network decides what it moved, see Network.Settle.
func (v *page) sent() error {
	if !v.May(account.ManageWallets) {
		return visit.Refuse(account.ManageWallets)
	}
	r, err := v.find()
	if err != nil {
		return err
	}
	rows, err := v.carried(r)
	if err != nil {
		return err
	}
	tx := strings.ToLower(v.FormValue("tx"))
	if _, isHash := ethereum.ParseHash(tx); !isHash {
		return v.JSON(http.StatusUnprocessableEntity, reply{Error: v.Text("desk.sweep.hash")})
	}
	carried, err := v.Storage.RecordSweepCarried(v.Request().Context(), v.Shop.ID, r.Plan.ID, tx, rows, v.Now())
	if err != nil {
		return notFound(err)
	}
	v.Log.WarnContext(v.Request().Context(), "sweep sent by a browser wallet", "sweep", r.Plan.ID, "merchant", v.Shop.ID, "tx", tx, "rows", carried)
	if carried == 0 {
		return v.JSON(http.StatusOK, reply{Text: v.Text("desk.sweep.taken")})
	}
	return v.JSON(http.StatusOK, reply{Text: v.Words.Count("desk.sweep.recorded", carried)})
}
