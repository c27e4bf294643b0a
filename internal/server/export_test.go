package server

import "github.com/labstack/echo/v4"

// Routes returns all routes of a server without a base path.
func Routes() []*echo.Route {
	e := echo.New()
	(&server{}).routes(e.Group(""))
	return e.Routes()
}
