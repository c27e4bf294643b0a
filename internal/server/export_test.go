package server

import "github.com/labstack/echo/v4"

// Routes are all that a server has, below no base path.
func Routes() []*echo.Route {
	e := echo.New()
	(&server{}).routes(e.Group(""))
	return e.Routes()
}
