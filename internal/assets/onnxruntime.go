package assets

// ONNXRuntime is the shared library of ONNX Runtime, CPU only, as its Python
// package carries it. Digests were taken from the published wheels.
func ONNXRuntime() Asset {
	const version = "1.32.0"
	library := func(platform, tag, member, name, sha string, size int64, wheel string) Build {
		return Build{
			Platform: platform,
			Files: []File{{
				Name: name, Size: size, SHA256: sha,
				Places: []Place{Pip{
					Package: "onnxruntime", Version: version, Python: "3.11", Platforms: []string{tag},
					Member: "onnxruntime/capi/" + member, Wheel: wheel,
				}},
			}},
		}
	}
	other := func(platform, name string) Build {
		return Build{
			Platform: platform,
			Files:    []File{{Name: name}},
			Note: "raglab has no pinned ONNX Runtime for this platform: install ONNX Runtime 1.24 or later " +
				"and name its library by the variable",
		}
	}
	return Asset{
		Name:    "onnxruntime",
		Version: version,
		Licence: "MIT",
		Summary: "ONNX Runtime shared library, runs the models",
		Builds: []Build{
			library("linux/amd64", "manylinux_2_28_x86_64", "libonnxruntime.so.1.32.0", "libonnxruntime.so",
				"6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f", 34824680,
				"5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d"),
			library("linux/arm64", "manylinux_2_28_aarch64", "libonnxruntime.so.1.32.0", "libonnxruntime.so",
				"49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a", 27165936,
				"2303372a85299b6757b0e11e1cbf13e410ddf7e10c37f4b37e99d1c90e7daf7c"),
			library("darwin/arm64", "macosx_14_0_arm64", "libonnxruntime.1.32.0.dylib", "libonnxruntime.dylib",
				"fa585fabbea65b823b9a8f7e27d46aee3989d1be7e36b528203d3a1fd613aae7", 35272344,
				"366b9e53d07812cc5c92822cecf7563b76a8a0f32ba3bb8dd232a206ac3bcb6c"),
			library("windows/amd64", "win_amd64", "onnxruntime.dll", "onnxruntime.dll",
				"e9feebaed867b76f741c14ae64e056a3da64a153a61994f1fb48eadc7f9b3ba8", 22668640,
				"d7e0c45cc5f456ad7805e6dd256a7662736cda9c2fd17becae194eb3c2f6df72"),
			other("darwin/*", "libonnxruntime.dylib"),
			other("windows/*", "onnxruntime.dll"),
			other(anyPlatform, "libonnxruntime.so"),
		},
	}
}
