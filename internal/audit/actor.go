package audit

import "context"

// Kind is the kind of an actor.
type Kind string

// The kinds of actors.
const (
	System  Kind = "system"
	Account Kind = "account"
	Key     Kind = "key"
	Command Kind = "command"
)

// Actor is the account, API key, command or part of the system that makes a change.
type Actor struct {
	Kind      Kind
	ID        string // of the account or the API key
	Name      string // name of the account, public part of the API key, or name of the command
	Address   string // network address of the caller; "" if there is none
	SteppedUp bool   // the account had confirmed its sign-in shortly before
}

// String returns the actor as lists show it.
func (a Actor) String() string {
	switch a.Kind {
	case Key:
		return "API key " + a.Name
	case Command:
		return "command " + a.Name
	case Account:
		return a.Name
	}
	return "system"
}

type contextKey struct{}

// WithActor returns a context that carries the actor of the changes that are made with it.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, contextKey{}, a)
}

// ActorOf returns the actor of a context, which is the system if WithActor was not called.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(contextKey{}).(Actor); ok {
		return a
	}
	return Actor{Kind: System}
}
