package settings

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/account"
	"chequer/views/desk"
	"chequer/web/desk/visit"
)

// Backups makes backups of the server: of all shops, with the master key. It is safe for concurrent use.
type Backups interface {
	// Last returns the time of the last backup; the zero time if there was none.
	Last() (time.Time, error)
	// Create writes a backup that is encrypted with a passphrase into a file. The error is ErrPassphrase for a
	// passphrase that is too short.
	Create(ctx context.Context, passphrase string) (Backup, error)
	// Shops returns the IDs of the shops of the server.
	Shops(ctx context.Context) ([]string, error)
}

// Backup is a backup that was made to be sent.
type Backup interface {
	// Path returns the path of the file.
	Path() string
	// Sent records that the whole backup was sent. Backups.Last then returns its time.
	Sent() error
	// Remove removes the file.
	Remove()
}

// ErrPassphrase means that a passphrase is too short.
var ErrPassphrase = errors.New("the passphrase is too short")

// backupPlace is the path of the page of the backups.
const backupPlace = "/backup"

// backup shows the form for a backup.
func (v *page) backup() error { return v.showBackup(http.StatusOK, "", "") }

// showBackup shows the form for a backup with the errors of its fields.
func (v *page) showBackup(status int, short, differs string) error {
	f, err := v.Frame(v.Text("desk.backup"), v.SettingsPath())
	if err != nil {
		return err
	}
	last, err := v.Backups.Last()
	if err != nil {
		return err
	}
	b := desk.Backup{
		Frame: f, Tabs: v.SettingsTabs(backupPlace), Action: v.Below(backupPlace), Last: v.Text("desk.backup.none"),
		Passphrase: desk.Field{Name: "passphrase", Label: v.Text("desk.backup.passphrase"), Hint: v.Text("desk.backup.passphrase.hint"), Kind: "password", Complete: "new-password", Error: short},
		Repeated:   desk.Field{Name: "repeated", Label: v.Text("desk.backup.repeated"), Kind: "password", Complete: "new-password", Error: differs},
	}
	if !last.IsZero() {
		b.Last = v.Text("desk.backup.last", "Time", v.Clock(last))
	}
	owns, err := v.ownsAllShops()
	if err != nil {
		return err
	}
	if !owns {
		b.Refused = v.Text("desk.backup.shops")
	}
	return v.Show(status, desk.BackupPage(b))
}

// ownsAllShops reports whether the account may make backups of every shop: a backup contains all shops.
func (v *page) ownsAllShops() (bool, error) {
	shops, err := v.Backups.Shops(v.Request().Context())
	return !slices.ContainsFunc(shops, func(id string) bool { return v.Account.Allows(id, account.BackUp) == account.Denied }), err
}

const (
	// backupTimeout is the time that making a backup may take.
	backupTimeout = time.Hour
	// chunkSize is the number of bytes of a backup that the caller must receive within chunkTimeout. Otherwise the
	// download is aborted.
	chunkSize    = 256 << 10
	chunkTimeout = time.Minute
)

// backupSlot holds an element while a backup is being made. A process makes one backup at a time, because the encryption
// needs 256 MB of memory.
var backupSlot = make(chan struct{}, 1)

// download sends a new backup.
func (v *page) download() error {
	owns, err := v.ownsAllShops()
	if err != nil {
		return err
	}
	if !owns {
		return visit.Refuse(account.BackUp)
	}
	// Making a large backup takes longer than the write timeout of the server.
	control := http.NewResponseController(v.Response())
	if err := control.SetWriteDeadline(v.Now().Add(backupTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	passphrase := v.FormValue("passphrase")
	if v.FormValue("repeated") != passphrase {
		return v.showBackup(http.StatusUnprocessableEntity, "", v.Text("desk.backup.differs"))
	}
	made, err := v.makeBackup(passphrase)
	if errors.Is(err, ErrPassphrase) {
		return v.showBackup(http.StatusUnprocessableEntity, v.Text("desk.backup.short"), "")
	}
	if err != nil {
		return err
	}
	defer made.Remove()
	f, err := os.Open(made.Path())
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	v.Log.Warn("sending backup", "account", v.Account.ID)
	v.Response().Header().Set(echo.HeaderContentType, echo.MIMEOctetStream)
	v.Response().Header().Set(echo.HeaderContentLength, strconv.FormatInt(info.Size(), 10)) // an incomplete file is recognisable
	v.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+filepath.Base(made.Path())+`"`)
	if err := v.sendFile(control, f); err != nil {
		v.Log.Warn("backup not sent completely", "account", v.Account.ID, "error", err)
		panic(http.ErrAbortHandler) // a normal return would end the file as if it were complete
	}
	return made.Sent()
}

// makeBackup makes a backup. If another backup is being made, it waits until that is complete or the browser closes the
// connection.
func (v *page) makeBackup(passphrase string) (Backup, error) {
	ctx := v.BrowserContext()
	select {
	case backupSlot <- struct{}{}:
		defer func() { <-backupSlot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return v.Backups.Create(ctx, passphrase)
}

// sendFile sends a file in chunks. It returns nil only if the whole file was written to the connection while the browser
// had not closed it. Without the flush, the last bytes could still be in a buffer.
func (v *page) sendFile(control *http.ResponseController, f *os.File) error {
	ctx := v.BrowserContext()
	for {
		if err := control.SetWriteDeadline(v.Now().Add(chunkTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		_, err := io.CopyN(v.Response(), f, chunkSize)
		if ended := errors.Is(err, io.EOF); err != nil && !ended {
			return err
		} else if ended {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	// The Flush of v.Response() would hide an error.
	if err := http.NewResponseController(v.Response().Writer).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return ctx.Err()
}
