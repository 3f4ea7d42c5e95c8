// Package private runs a Postgres server of raglab's own: started by the first
// process that wants it, shared by all processes of the user that name the same
// folder, stopped when nobody has wanted it for a while.
//
// # Who does what
//
// [Acquire] gives a [Lease]: a shared lock on the file clients, which the
// operating system takes back when the process ends, however it ends. The server
// is the child of a supervisor, which is the same program run again with
// [SupervisorFlag] in a session of its own, so that neither the end nor the
// Ctrl-C of the process that started it reaches the server. The supervisor holds
// a lock while it lives; whoever can take that lock knows that no server is to be
// relied on. When the supervisor can have the clients' lock for itself for
// [Config.IdleAfter], it stops the server and ends. On Linux the server is told to
// stop when its supervisor dies, so that none is left without one; elsewhere the
// next start finds the one left behind and stops it first.
//
// Starting and stopping happen under a third lock, so twenty processes that begin
// at once get one server, and none is stopped under a process that just began.
// No lock is a file that must be removed: a crash leaves nothing to clean by hand.
//
// # Accounts
//
// Postgres refuses to run as root. Run by root, the supervisor keeps root's rights
// and runs every Postgres program as the account postgres, or nobody where there
// is none, with a data folder that belongs to that account. Postgres is the better
// of the two because on most systems other services run as nobody too and could
// read its files. Where the account cannot reach the folder, as below /root,
// the data folder is made below [Config.AccountDir] and linked from the folder,
// and the programs are copied there.
//
// # Who may connect
//
// The server listens on a Unix socket in a folder of mode 0700, and on no address.
// It asks the kernel who is at the other end (peer authentication) and lets in
// only the user that started it. Where sockets cannot be made it listens on
// 127.0.0.1 at a free port and asks for a random password that only the user can
// read.
//
// # Files
//
//	DIR/lock        held while a server is started or stopped
//	DIR/clients     held, shared, by every process with a lease
//	DIR/supervisor  held by the supervisor
//	DIR/server.json where the server is, while there is one
//	DIR/password    of the server's role
//	DIR/server.log  what server and supervisor said
//	DIR/server/     or a link to a folder below AccountDir: data, run (the socket), programs
package private
