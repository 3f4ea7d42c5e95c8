package assets

// SimplemmaName returns the name of the asset with the dictionary of a language.
func SimplemmaName(language string) string { return "simplemma-" + language }

// SimplemmaFile returns the name of the file of such an asset.
func SimplemmaFile(language string) string { return language + ".plzma" }

// Simplemma lists the dictionaries of word forms and lemmas that raglab takes
// from the Python package simplemma: Italian, Turkish, Ukrainian. Package lemma
// reads their files. Digests were taken from the published wheel, which is the
// same on every platform.
func Simplemma() []Asset {
	const version = "2.0.0"
	dictionary := func(language, summary string, size int64, sha string) Asset {
		return Asset{
			Name:    SimplemmaName(language),
			Version: version,
			Licence: "MIT",
			Summary: summary,
			Builds: []Build{{
				Platform: anyPlatform,
				Files: []File{{
					Name: SimplemmaFile(language), Size: size, SHA256: sha,
					Places: []Place{Pip{
						Package: "simplemma", Version: version, Python: "3.11", Platforms: []string{"any"},
						Member: "simplemma/strategies/dictionaries/data/" + language + ".plzma",
						Wheel:  "db33b15f5aed6485a748ce34d1f510ca760af2633289ab9a8493e2afa785c352",
					}},
				}},
			}},
		}
	}
	return []Asset{
		dictionary("it", "Italian lemmas of 358,210 word forms", 123772,
			"14e78b154292bfb540a5c2bd910c60b272f357cd9cb6f8f60c7ad579a9ff7d0f"),
		dictionary("tr", "Turkish lemmas of 1,236,297 word forms", 1295128,
			"65f6c09de952c34884f93184bb049058de163c11affb7d5f05c6ea196f8d5171"),
		dictionary("uk", "Ukrainian lemmas of 598,687 word forms", 333980,
			"2bffd0e7040f022dc12574bf2cf567b678250ec8de37c38aa0c065d302373337"),
	}
}
