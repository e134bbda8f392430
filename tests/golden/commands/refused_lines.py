"""Command lines and expressions that are refused, the most telling ones of every room.

``TRAIN``, ``NR`` and ``TUNE`` stand for what ``refusals`` has in their place.
"""

COMMANDS = """
dpcore trian
dpcore train --epsilno 1
dpcore train --epsilon one
dpcore ledger shwo
dpcore predict
TRAIN --epsilon 0
TRAIN --delta 0 --accountant zcdp
TRAIN --epsilon 1 --rho 1
TRAIN --mu 1 --accountant zcdp
TRAIN --l2 -1
TRAIN --algo dp-gdd
TRAIN --loss logistics
TRAIN --loss ridge
TRAIN --loss poisson
TRAIN --relation replace
TRAIN --algo rsgd-ar --l2 .1 --relation add-or-remove-one
TRAIN --accountant zcpd
TRAIN --algo dp-gd --accountant none
TRAIN --conversion tightest
TRAIN --engine lokal
TRAIN --engine local:8786
TRAIN --threads 0
TRAIN --algo dp-agd --use selection=laplace
TRAIN --algo dp-agd --use step=gaussian
TRAIN --algo dp-gd --set clips=1
TRAIN --algo dp-gd --set clip=-1
TRAIN --algo dp-gd --set clip=1 --set clip=2
TRAIN --algo dp-agd --set loss.tau=.5
TRAIN --algo dp-gd --preset papers
TRAIN --algo dp-gd --as-published
TRAIN --algo dp-agd --as-published --set steps=3
TRAIN --bad-rows skip
TRAIN --bad-rows drop --relation replace-one
TRAIN --trust local
TRAIN --algo a-ddp --trust everyone
TRAIN --algo a-ddp --users nobody.csv
TRAIN --algo a-ddp --users users-twice.csv
TRAIN --algo a-ddp --users users-epsilon.csv
TRAIN --algo a-ddp --users users-few.csv
TRAIN --algo a-ddp --engine dask
TRAIN --algo a-ddp --ledger table.ledger
TRAIN --test-fraction 1.5
TRAIN --test-fraction .2 --test rows.csv
TRAIN --evaluate-share .2
TRAIN --test-fraction .2 --evaluate-share .2 --evaluate-epsilon .1
TRAIN --test-fraction .2 --evaluate-epsilon 3
TRAIN --test-fraction .2 --evaluate-share .2 --algo objpert
TRAIN --test-fraction .2 --evaluate-by x
TRAIN --test-fraction .2 --evaluate-share .2 --evaluate-by x
TRAIN --intervals-share 1.2
TRAIN --intervals-share .3 --loss hinge-svm
TRAIN --intervals-share .6 --intervals-anyway --evaluate-share .6 --test-fraction .2
TRAIN --unit person
TRAIN --unit height --rows-per-unit 2
TRAIN --unit persona --rows-per-unit 2
TRAIN --unit person --rows-per-unit 2 --algo objpert --l2 .1
TRAIN --rows-per-unit 2
TRAIN --class-weight yes=0
TRAIN --class-weight maybe=2
TRAIN --class-weight balanced --algo rsgd-ar --l2 .1
TRAIN --class-weight yes=2 --largest-weight 3
TRAIN --multiclass all
dpcore train --data rows.csv --schema ward.toml --loss logistic
dpcore train --data rows.csv --schema ward.toml --multiclass ovr --loss softmax
dpcore train --data rows.csv --schema ward.toml --multiclass ovr --class-weight balanced
dpcore train --data rows.csv --schema ward.toml --algo rsgd-ar --l2 .1
dpcore train --data rows.csv --schema income.toml --multiclass ovr
dpcore train --data rows.csv --schema income.toml --algo objpert --l2 .1
TRAIN --out rows.csv
TRAIN --out results.parquet
TRAIN --seed -1
TRAIN --epsilon 2 --ledger none.ledger
TRAIN --epsilon 2 --ledger no.ledger
TRAIN --epsilon 2 --ledger small.ledger
TRAIN --epsilon 2 --ledger units.ledger
TRAIN --epsilon 2 --ledger table.ledger --relation replace-special
TRAIN --epsilon 2 --as ann
TRAIN --part city=Zug
TRAIN --part age=3
TRAIN --part city=Bern --relation replace-one
TRAIN --private-bounds
TRAIN --schema-from-data
TRAIN --target ward
TRAIN --epsilon-max 3
NR
NR --target-accuracy .99 --slack .3 --epsilon-max 100 --seed 1
NR --target-accuracy .8
NR --target-excess-risk .1 --epsilon 1
NR --target-excess-risk .0001
TRAIN --algo cov-nr --relation replace-one --target-excess-risk .1
TRAIN --algo dp-gd --target-accuracy .9
TRAIN --algo privgene --set survivors=900
TRAIN --epsilon 1e-9
TRAIN --algo objpert --l2 .1 --accountant gdp --intervals-share .2 --intervals-anyway
dpcore train --data nothing.csv
dpcore train --data rows.csv
dpcore train --data census-sim --schema hired.toml
dpcore train --data rows.csv --schema missing.toml
dpcore train --data rows.csv --query "select age from rows" --schema ward.toml
dpcore train --data sqlite:///rows.db --schema ward.toml
dpcore train --data sqlite:///rows.db --query "select age from rows" --schema ward.toml
dpcore train --data sqlite:///rows.db --query "select age from rows limit 5" --schema ward.toml
dpcore train --data sqlite:///rows.db --query "drop table rows" --schema ward.toml
dpcore train --data postgresql://ann:secret@host/rows --query "select 1" --schema ward.toml
dpcore train --data rows.dpcore --schema ward.toml
dpcore train --data rows.csv --schema-from-data
dpcore train --data rows.csv --schema hired.toml --test other.csv
dpcore train --data empty.csv --schema hired.toml
dpcore train --data short-line.csv --schema hired.toml
dpcore train --data word.csv --schema hired.toml
dpcore train --data blank.csv --schema hired.toml
dpcore train --data class.csv --schema hired.toml
dpcore train --data latin.csv --schema hired.toml
dpcore train --data quote.csv --schema hired.toml
dpcore train --data twice.csv --schema hired.toml
dpcore train --data semicolons.csv --schema hired.toml
dpcore train --data rows.txt.gz --schema hired.toml
dpcore train --data rows.parquet --schema hired.toml
dpcore train --data rows.svm --schema hired.toml
dpcore train --data old.dpcore
dpcore train --data rows.xls --schema hired.toml
dpcore train --data folder --schema hired.toml
dpcore train --data rows.csv --schema no-label.toml
dpcore train --data rows.csv --schema kind.toml
dpcore train --data rows.csv --schema key.toml
dpcore train --data rows.csv --schema bounds.toml
dpcore train --data rows.csv --schema open.toml
dpcore train --data rows.csv --schema log.toml
dpcore train --data rows.csv --schema no-categories.toml
dpcore train --data rows.csv --schema twice.toml
dpcore train --data rows.csv --schema one-class.toml
dpcore train --data rows.csv --schema top.toml
dpcore train --data rows.csv --schema cross.toml
dpcore train --data rows.csv --schema norm.toml
dpcore train --data rows.csv --schema date.toml
TUNE
TUNE --candidates l2=.1,.1
TUNE --candidates epsilon=1,2
TUNE --candidates l2=.1,1 --law normal
TUNE --candidates l2=.1,1 --tries .5
TUNE --candidates l2=.1,1 --eta 1
TUNE --candidates l2=.1,1 --accountant gdp
TUNE --set l2=.1,1 --law poisson --accountant zcdp
dpcore predict missing.json --data rows.csv
dpcore predict half.json --data rows.csv
dpcore predict other.json --data rows.csv
dpcore predict newer.json --data rows.csv
dpcore predict altered.json --data rows.csv
dpcore predict model.json --data other.csv
dpcore predict model.json --data rows.csv --keep street
dpcore predict model.json --data rows.csv --bad-rows drop
dpcore predict model.json --data some.csv --bad-rows refuse
dpcore predict model.json --data rows.csv --threshold 2
dpcore predict model.json --data rows.csv --out model.json
dpcore predict classes.json --data rows.csv --threshold .4
dpcore predict number.json --data rows.csv --proba
dpcore info dp-adg
dpcore info hired.toml
dpcore report rows.csv
dpcore report model.json --format pdf
dpcore export model.json graph.txt
dpcore export hashed.json graph.onnx
dpcore list optimiser
dpcore check gaussian --kind loss
dpcore check nowhere.module:Part
dpcore audit
dpcore audit dp-gd --method three-world
dpcore audit --again none.json
dpcore audit a-ddp --method releases
dpcore account --probability .1
dpcore account --rounds 3 --delta 0
dpcore explain --rows 0
dpcore plan --target-accuracy .99 --features 10
dpcore plan --target-accuracy .8 --features 10 --rows 100 --epsilon 1 --classes-share .6
dpcore schema rows.csv --target wage
dpcore schema rows.csv --from-data
dpcore schema --check rows.csv
dpcore schema rows.csv --epsilon 1
dpcore schema --check rows.csv hired.toml --delta 1e-6
dpcore schema --check rows.dpcore hired.toml
dpcore schema --check rows.csv units.toml --epsilon 1
dpcore convert rows.csv new.dpcore
dpcore convert rows.csv new.store --schema hired.toml
dpcore convert rows.csv new --schema units.toml --jobs 2
dpcore convert rows.dpcore new.dpcore
dpcore compare --algos output-nr
dpcore compare --algos dp-gd,dp-gd
dpcore compare --json --markdown
dpcore compare --quiet
dpcore compare --jobs 0
dpcore compare --folds 1
dpcore compare --out results.csv
dpcore compare --algos dp-gd --set dp-agd.clip=1
dpcore compare --data rows.csv,rows.csv --schema hired.toml
dpcore compare --plot figure.gif
dpcore plot missing.parquet
dpcore plot results.parquet
dpcore ledger init table.ledger --epsilon 1
dpcore ledger init new.ledger --epsilon 1 --accountant pld
dpcore ledger init new.ledger --epsilon 1 --aside 1
dpcore ledger init postgresql://ann:secret@localhost/tables --epsilon 1
dpcore ledger init "postgresql://ann@localhost/tables?ledger=Stays" --epsilon 1
dpcore ledger show none.ledger
dpcore ledger show table.ledger --json --html
dpcore ledger verify table.ledger model.json
dpcore ledger close table.ledger 7
"""

EXPRESSIONS = """
fit(X, y, epsilon="1")
fit(X, y, bounds=(0, 1), private_bounds=True)
fit(X, y, classes=(0, 1, 1))
fit(X, y, classes=(0, 1), target_bounds=(0, 1))
fit(X, y + 5, classes=(0, 1))
fit(X, y[:-1], classes=(0, 1))
fit(X, classes=(0, 1))
fit(X[0], y, classes=(0, 1))
fit(X * nan, y, classes=(0, 1))
fit(X, y, classes=(0, 1), bounds=(1, 0))
fit(X, y, classes=(0, 1), bounds=([0, 0], [1, 1]))
fit(X, y, classes=(0, 1), row_norm=None)
fit(X, y, loss="ridge")
fit(X, y, classes=(0, 1), sample_weight=y)
fit(X, y, classes=(0, 1), weight_bound=2.0)
fit(X, y, classes=(0, 1), sample_weight=-y, weight_bound=2.0)
fit(X, y, classes=(0, 1), test_fraction=0.2)
fit(X, y, classes=(0, 1), targets={"target_acuracy": 0.9}, algo="output-nr")
fit(X, y, classes=(0, 1), unit="person", rows_per_unit=2)
fit(frame)
fit(frame, y, schema=schema)
fit(frame, schema={"columns": {"age": {"kind": "numeric"}}})
fit(frame, schema=3)
fit(frame.astype({"city": "category"}), schema=schema, bounds=(0, 1))
fit(frame, schema=schema, sample_weight=y[:3], weight_bound=1.0)
fit("rows.csv")
fit(csr(X), y, classes=(0, 1), bounds=(0, 1))
load_model("model.json").predict(frame[["age"]])
load_model("model.json").predict_interval("some.csv")
load_model("number.json").predict_proba("some.csv")
Schema.from_dict({"colums": {}})
Schema.from_toml("columns = 3")
open_session(frame, schema=schema, accountant="pld")
open_session(frame, schema=schema).histogram("height", share=0.5)
open_session(frame, schema=schema).mean("city", share=0.5)
open_session(frame, schema=schema).mean("age", share=2)
[session.count(share=0.8) for session in [open_session(frame, schema=schema)] for _ in "ab"]
sklearn.PrivateLogisticRegression().fit(X, y)
sklearn.PrivateLogisticRegression(bounds=(0, 1), classes=(0, 1), epsilon=0).fit(X, y)
sklearn.PrivateLogisticRegression(bounds=(0, 1), classes=(0, 1)).fit(X, None)
sklearn.PrivateLogisticRegression(bounds=(0, 1), classes=(0, 1)).predict(X)
sklearn.PrivateLinearSVC(bounds=(0, 1), classes=(0, 1), loss="logistic").fit(X, y)
sklearn.PrivateRidge(bounds=(0, 1)).fit(X, y)
sklearn.PublicEncoder().fit(X)
sklearn.PrivateSearch(estimator=StandardScaler(), candidates={"l2": [1.0]}).fit(X, y)
sklearn.PrivateSearch(estimator=sklearn.PrivateRidge(bounds=(0, 1)), candidates={}).fit(X, y)
sklearn.make_pipeline(StandardScaler(), sklearn.PrivateRidge())
plugin.Gaussian(noise_multiplier=0.0)
samples.PoissonSample(plugin.RowCount(), 2.0)
plugin.Slot(names=("gaussian",))
parts.GaussianDpEvent(-1.0)
parts.ApproximateDpEvent(1.0, 2.0)
parts.RenyiDpEvent((0.5,), (1.0,))
parts.load_registry().get("accountant", "zcpd")
"""
