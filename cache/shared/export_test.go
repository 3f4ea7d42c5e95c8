package shared

import "context"

// Renew does what a writer does every hour.
func Renew(ctx context.Context, s *Store) error {
	if s.session == nil {
		return nil
	}
	return s.session.renew(ctx)
}
