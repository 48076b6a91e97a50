"""SHA-256 of the files that the folder TRANSDUCE_DATA may hold, by data set and name."""

CHECKSUMS: dict[str, dict[str, str]] = {
    "bible-en-de": {
        "bible-uedin-v1.de.gz": "4d0f81ddb36c4071fcdb8ff205f70770b7ab9717494b4dbdff9786e4100b04ad",
        "bible-uedin-v1.en.gz": "5618fde0049074978638fc86f8a715809c81fe1fa6265408f63d68cb014fb2c5",
    },
    "iwslt15-en-vi": {
        "train-30k.en.gz": "d112798f42928e602a41073c7e5b091ce741260a669a33353bf0798d2c52c295",
        "train-30k.vi.gz": "0caea31dbf75886ee8efef5658e2a9964987cd96b18ead3665b22ee9561766dc",
        "tst2012.en.gz": "387eacb431569b237b616c72c055f8d6d29f3db7b336732b3aee300479ffbb96",
        "tst2012.vi.gz": "384d3851eb83250940b90f549ae9e93e73d050c8f0d710cf10c0a5f848ee24f4",
        "tst2013.en.gz": "36e738a3b661da0b00defccc95cfe6731f50727b9098f7b49490cffad28469bc",
        "tst2013.vi.gz": "e647d64b7c7cc254110593a218354f73681aef359e62ee322c2962683611276d",
    },
    "multi30k": {
        "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
        "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
        "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    },
    "newstest": {
        "news-test2008.de.gz": "939c4ecd31c074f1230b7303329f56c56bed992cd2a75e11faacb5d95618842f",
        "news-test2008.en.gz": "64041cbdc6f59334105fd47b1d4117de22932f518b4e58b89cfe1a0a9ff939e3",
        "news-test2008.fr.gz": "d64f53ffecbfe8283647c79c747f04f833dbc10c7fbb71f7b3722eaedde2950c",
        "newstest2009.de.gz": "9b42d2f0f814d32d0a25ffc9a1385b2316c6f1085dfccd69b0f1cca60428cdbd",
        "newstest2009.en.gz": "00b91803588e6473e67e603c3f200a0fd1d854d643630e369d09475adbd70e04",
        "newstest2009.fr.gz": "5b53f45eb768cfeb019dd527d6749a8e18895c9405d1a799698becaabe3ccce1",
        "newstest2010.de.gz": "c5328def587ca0599243099a457ef644d63b272cceebd6bbd5bb1d6664e9c2c6",
        "newstest2010.en.gz": "c37f91887b010122bb98ad6bd73abc834b8dc867ede26452d98a860a38097b53",
        "newstest2010.fr.gz": "1779113866025b53cf94c9477f4dd917334b974f89a7ec4dce103c9e58f9b334",
        "newstest2011.de.gz": "fee84b63b201dae0fff585f495c37dda9717179b17e1d3696252780e72753185",
        "newstest2011.en.gz": "abb3ba7a66fa057872ff95d88911db1e75a107e800d188e8f1145f08c4e9d60e",
        "newstest2011.fr.gz": "ca85cde74b73b10170ababa9af89e408eca9df16f4d60138953a08225f375b16",
        "newstest2012.de.gz": "134c36042d989901be1fe7ea8c2462c79b7b3d3f9cd7461b39467e3943ba8e94",
        "newstest2012.en.gz": "350be188a32eaeddfe57d580bd83f07a602bf1484b3d4a96ee7c3e370692e20b",
        "newstest2012.fr.gz": "d8dbab19e3f1abf9d4ae8d5cbf0f366a4dccb41a8db1c5df7e4344ce60eff527",
        "newstest2013.de.gz": "5555a367c989238d99ce95fdf47f5dc7e6d2399f07ee902e8434469faa492b63",
        "newstest2013.en.gz": "fe1ec28570b18fe745a73719f5cab767d277aad2227e995c6db5b9da15e91769",
        "newstest2013.fr.gz": "ff562c7a154f377641b3fbf653bf563e64bba58a17ca033422a5d018f66df0a6",
        "newstest2014.en.gz": "50e677915f0a9ef81d23f0155b022beabd5f9ee5ab5f1a3388dc12b151092e8a",
    },
    "ptb": {
        "ptb.test.txt.gz": "b9743208d38e095719ea30645a6456bd2cabe3b3dfe0815ad10a51d08b4e2a48",
        "ptb.train.txt.gz": "d1ec43563d7ce27da8b43f9069b2a58cb9e7f2656e96d7aab0ddc61ef728e176",
        "ptb.valid.txt.gz": "fdb970a6bddedf957366618daec55ab7beb159f8123600f8db16c34833dca93d",
    },
    "tanaka-en-ja": {
        "dev.en.gz": "09d711e7ec8ebeded23c95e229461e31407344a59a6968be2e572fc44a125915",
        "dev.ja.gz": "af29ca8bfe70794db7cf3d7376b388cb359c7770d46032e14d2ea5ceb673a847",
        "test.en.gz": "ae589a84bcb2cecfa74d9a566325786058bb573f510a6c33ceb16248a3b31bc9",
        "test.ja.gz": "30ca4f6b7bf6cd611e24506bc7bf8b065ee6aaae806f1038510f969a39a0c0b0",
        "train.en.gz": "bad7b53b45300a0c8b1f0ed75e67b4d39b7812785e179695520640e9187bb49c",
        "train.ja.gz": "ec045075da7dc068d694ade5ac3e270037369d09f43cb333087837dc8eabf8f5",
    },
    "tatoeba-eng-deu": {
        "eng-deu.txt.gz": "e936e777ff76f3b5df26630035bcb05b8e5b0959f52d8fea7797ae154df51aa0",
    },
    "tatoeba-eng-fra": {
        "eng-fra.txt.gz": "0b18e8738d744a3db9988bdd3546790101658824f67ec39d3d82dca2d741cc82",
    },
    "tinyshakespeare": {
        "input.txt.gz": "13125fe8f49092165d7d489e3944db52d1ba546e64a60080cc9523bcd0c5e46a",
    },
    "wikitext-2": {
        "test.txt.gz": "688887879b4b526692cb2e423a516dcc5f6584a01fd3f33a8e164fbed2de8090",
        "valid.txt.gz": "3cdd8cb5bb349a05840c7c3bef9578d90d64df77e27e0c25c033ba9342757ee3",
    },
}
