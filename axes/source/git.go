package source

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"raglab/axes"
	"raglab/golden"
	"raglab/internal/param"
	"raglab/internal/web"
)

// GitParams are the parameters of the kind git.
type GitParams struct {
	Repository string   `hcl:"repository" default:"" doc:"Repository, as OWNER/NAME." example:"\"IBM/mt-rag-benchmark\""`
	Commit     string   `hcl:"commit" default:"" doc:"Commit, as its 40 digits." example:"\"cc5b1d481b391181b89f7ced860308482e785463\""`
	Files      []string `hcl:"files" default:"" doc:"Paths of the files to fetch, each by itself; none fetches the repository as one archive."`
	URL        string   `hcl:"url" key:"-" default:"" doc:"Address of one file or archive, instead of repository and commit."`
	SHA256     []string `hcl:"sha256" default:"" doc:"SHA-256 of each of files, in their order, or of the one archive or address."`
	Lock       string   `hcl:"lock" default:"" path:"true" doc:"File that pins what is fetched; raglab lock writes it."`
	Include    []string `hcl:"include" default:"" doc:"Patterns of the files to take as documents, from what was fetched and the archives in it."`
	Layout     string   `hcl:"layout" default:"files" enum:"files|jsonl|beir" doc:"What the files are: documents of their own, one document a line, or a data set in BEIR's layout."`
	ID         string   `hcl:"id" default:"_id" doc:"In the layout jsonl, field that holds a document's id."`
	Title      string   `hcl:"title" default:"title" doc:"In the layout jsonl, field that holds its title."`
	Text       string   `hcl:"text" default:"text" doc:"In the layout jsonl, field that holds its text."`
	Split      string   `hcl:"split" default:"test" doc:"In the layout beir, which judgements to take."`
	Questions  string   `hcl:"questions" default:"" doc:"File of judged questions in one of the shapes that golden's file may have."`
	Drafts     bool     `hcl:"drafts" default:"false" doc:"Whether to take questions that a model wrote."`
	Queries    string   `hcl:"queries" default:"" doc:"File of questions in BEIR's or TREC's shape."`
	Qrels      string   `hcl:"qrels" default:"" doc:"File of judgements in BEIR's or TREC's shape."`
	Format     string   `hcl:"format" default:"text" enum:"text|markdown" doc:"In the layouts jsonl and beir, what the texts are written in."`
	Empty      string   `hcl:"empty" default:"error" enum:"error|keep|skip" doc:"What becomes of a document without title and text."`
	RawURL     string   `hcl:"raw_url" key:"-" default:"https://raw.githubusercontent.com/{repository}/{commit}/{path}" doc:"Address of a file on the host of the repository."`
	ArchiveURL string   `hcl:"archive_url" key:"-" default:"https://codeload.github.com/{repository}/zip/{commit}" doc:"Address of the archive on the host of the repository: a zip or tar.gz file."`
}

// Git is the kind of files or an archive from a git host.
func Git() axes.Kind[Source] {
	kind := axes.Define(axes.Meta{
		Name:            "git",
		Version:         "1",
		Resource:        axes.Network,
		Summary:         "Documents and judged questions from a git host: files at a commit, or an archive at an address.",
		BringsQuestions: true,
		Doc: "What is fetched is the files named by files at the commit, the whole repository at the commit as an archive, or the " +
			"one file at url. Zip and tar.gz files among them are opened, and their files take their place, named by their path in the " +
			"archive (without the one folder that all of it may be in); no archive within an archive is. A pattern is that of the kind files.\n\n" +
			"In the layout files each file is a document, as in the kind files. In the layout jsonl the files, in the byte order of " +
			"their names, hold a document a line, as in the kind jsonl; without include those whose name ends in .jsonl, also with .gz " +
			"or .zst. The layout beir is that of the kind beir, with its questions. In any layout, questions, or queries with qrels, name files " +
			"with judged questions by their path.\n\n" +
			"A commit says what is fetched, but not that it came whole and from nobody else: sha256 does, or lock, into which " +
			"raglab lock writes the SHA-256 of each file. Of a repository's archive, whose bytes a host may pack anew, it writes the " +
			"SHA-256 of each file taken from it. " +
			"Other hosts than GitHub are named by raw_url and archive_url, in which {repository}, {commit} and {path} are replaced. " +
			"GITHUB_TOKEN is sent to hosts of GitHub, and nowhere else. " +
			"Archives with names that lead out of their folder, or that unpack to far more than they are, are refused; symbolic links in them are no files.",
	}, newGit)
	return axes.QuestionsOf(kind, func(p GitParams) string {
		if p.Layout == "beir" || p.Questions != "" || p.Queries != "" && p.Qrels != "" {
			return ""
		}
		return "set questions to a file of judged questions, or queries and qrels"
	})
}

var repositoryPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

func newGit(p GitParams, env axes.Env) (Source, error) {
	s := &git{GitParams: p, lock: p.Lock, getenv: env.Getenv, shelf: newShelf(env)}
	if s.getenv == nil {
		s.getenv = os.Getenv
	}
	if err := s.checkFrom(); err != nil {
		return nil, err
	}
	if err := s.checkFiles(); err != nil {
		return nil, err
	}
	if (p.Queries == "") != (p.Qrels == "") {
		return nil, param.Errorf("qrels", "and queries belong together: one has the questions, the other the judgements")
	}
	if p.Questions != "" && p.Queries != "" {
		return nil, param.Errorf("questions", "excludes queries and qrels")
	}
	if err := checkSplit(p.Split); err != nil {
		return nil, err
	}
	var err error
	s.include, err = parseGlobs("include", p.Include)
	return s, err
}

type git struct {
	warnings
	GitParams
	lock    string
	getenv  func(string) string
	shelf   *shelf
	include []glob
}

// checkFrom checks what says where to fetch from.
func (s *git) checkFrom() error {
	if s.URL != "" {
		if s.Repository != "" || s.Commit != "" || len(s.Files) > 0 {
			return param.Errorf("url", "excludes repository, commit and files")
		}
		if err := web.Secure(s.URL); err != nil {
			return param.Errorf("url", "is %v", err)
		}
		return nil
	}
	switch {
	case !repositoryPattern.MatchString(s.Repository) || strings.Contains(s.Repository, ".."):
		return param.Errorf("repository", "%q is no repository: expected OWNER/NAME", s.Repository)
	case !commitPattern.MatchString(s.Commit):
		return param.Errorf("commit", "%q is no commit: expected its 40 digits from 0 to 9 and a to f; a branch or tag may move", s.Commit)
	}
	for name, template := range map[string]string{"raw_url": s.RawURL, "archive_url": s.ArchiveURL} {
		if err := web.Secure(s.address(template, "x")); err != nil {
			return param.Errorf(name, "is %v", err)
		}
	}
	return nil
}

func (s *git) checkFiles() error {
	for i, name := range s.Files {
		if name == "" || name != path.Clean(name) || path.IsAbs(name) || strings.HasPrefix(name, "../") || name == ".." {
			return param.Errorf("files", "%q is no path in a repository", name)
		}
		for _, other := range s.Files[:i] {
			if other == name {
				return param.Errorf("files", "%q stands twice", name)
			}
		}
	}
	if want := max(1, len(s.Files)); len(s.SHA256) != 0 && len(s.SHA256) != want {
		return param.Errorf("sha256", "has %d values, where %d are fetched", len(s.SHA256), want)
	}
	return checkDigests("sha256", s.SHA256...)
}

// address fills in a template.
func (s *git) address(template, file string) string {
	var escaped []string
	for part := range strings.SplitSeq(file, "/") {
		escaped = append(escaped, url.PathEscape(part))
	}
	return strings.NewReplacer("{repository}", s.Repository, "{commit}", s.Commit, "{path}", strings.Join(escaped, "/")).Replace(template)
}

// from names what is fetched.
func (s *git) from() string {
	if s.URL != "" {
		return web.RedactURL(s.URL)
	}
	return s.Repository + "@" + s.Commit
}

func (s *git) name() string { return "git source " + s.from() }

func (s *git) Inputs(context.Context) ([]string, error) { return lockInputs(s.lock) }

// Place implements [Placed].
func (s *git) Place() string {
	switch {
	case s.Unpinned() == "":
		return ""
	case s.URL != "":
		return web.RedactURL(s.URL)
	}
	return s.RawURL + " " + s.ArchiveURL
}

// Unpinned implements [Pinner].
func (s *git) Unpinned() string {
	if len(s.SHA256) > 0 {
		return ""
	}
	return unpinned(s.name(), s.lock, " sha256, or")
}

// LockFile implements [Pinner].
func (s *git) LockFile() string { return s.lock }

// githubHosts are the hosts that GITHUB_TOKEN is for.
var githubHosts = map[string]bool{
	"raw.githubusercontent.com": true, "codeload.github.com": true, "github.com": true, "api.github.com": true,
}

// header returns the credentials for an address.
func (s *git) header(address string) http.Header {
	header := http.Header{}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || !githubHosts[u.Host] {
		return header
	}
	if token := strings.TrimSpace(s.getenv("GITHUB_TOKEN")); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header
}

func (s *git) Documents(ctx context.Context) iter.Seq2[axes.Document, error] {
	return s.reading(ctx, s.documents)
}

// Questions implements [Questioner].
func (s *git) Questions(ctx context.Context) (*golden.Set, error) {
	set, said, err := s.questions(ctx)
	if err != nil {
		return nil, err
	}
	s.setQuestions(said)
	return set, nil
}

// checkSplit refuses what is no name of a split.
func checkSplit(split string) error {
	if split == "" || strings.ContainsAny(split, `/\`) || strings.Contains(split, "..") {
		return param.Errorf("split", "%q is not the name of a split, such as test", split)
	}
	return nil
}
